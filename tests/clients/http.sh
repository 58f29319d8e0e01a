#!/usr/bin/env bash
# Talks to a hub with curl (draft section 11.1). Usage: http.sh URL
set -euo pipefail
url=$1
body=$(mktemp)
trap 'rm -f "$body"' EXIT

# Posts a frame. Prints the status and the media type; the body is in the file.
post() {
    local frame=$1 data=--data-raw
    shift
    # curl takes what follows an @ as the name of a file, unless the option is --data-raw.
    [ "$frame" != @- ] || data=--data-binary
    curl --silent --show-error --max-time 30 -o "$body" -w '%{http_code} %{content_type}' \
        -H 'Content-Type: application/accp' "$@" "$data" "$frame" "$url/accp/v1/frames"
}

expect() {
    local what=$1 said=$2 pattern=$3
    # shellcheck disable=SC2053
    if [[ $said != $pattern ]]; then
        printf '%s: expected %s, got %s\n' "$what" "$pattern" "$said" >&2
        exit 1
    fi
}

now=$(date +%s)
said=$(post "@curl>req:plan{goal:lunch}[mid:c00000000001,seq:1,ts:$now,sid:curl]")
expect 'a frame' "$said" '200 application/accp'
expect 'its answer' "$(<"$body")" '@hub>ack:frame{}\[*of:c00000000001*\]'

said=$(post "@curl>req:plan{goal:lunch}[mid:c00000000001,seq:1,ts:$now,sid:curl]")
expect 'the same again' "$said" '400 application/accp'
expect 'its answer' "$(<"$body")" '@hub>fail:error{code:E3002*schema:ER*'

said=$(post "@curl>req:plan{}[mid:c00000000002,seq:2,ts:1000,ttl:1,sid:curl]")
expect 'an expired frame' "$said" '202 '
expect 'its answer' "$(<"$body")" ''

said=$(post "@curl>req:plan{goal" -H 'Content-Type: application/accp')
expect 'half a frame' "$said" '400 application/accp'
expect 'its answer' "$(<"$body")" '@hub>fail:error{code:E1001*at:*'

said=$(curl --silent --max-time 30 -o "$body" -w '%{http_code}' --data-raw '@a>req:x{}' "$url/accp/v1/frames")
expect 'another media type' "$said" 415
expect 'its answer' "$(<"$body")" '@hub>fail:error{code:E1001*'

# One ST frame a chunk, both ways (draft section 11.1).
piece() {
    printf '@curl>stream:infer{idx:%d|d:word%d%s|schema:ST}[mid:c0000000001%d,seq:%d,ts:%d,sid:curl,cid:st]\n' \
        "$1" "$1" "$2" "$1" "$(($1 + 3))" "$now"
}
said=$({ piece 0 ''; piece 1 ''; piece 2 '|done:true'; } | post @- -H 'Transfer-Encoding: chunked' --no-buffer)
expect 'a stream' "$said" '200 application/accp'
expect 'its answers' "$(grep -c '^@hub>ack:frame{}\[' "$body")" 3
curl --silent --max-time 30 "$url/accp/v1/sessions/curl/frames" >"$body"
expect 'the stream in the log' "$(grep -o 'd:word[0-9]' "$body" | tr '\n' ' ')" 'd:word0 d:word1 d:word2 '

for path in healthz readyz metrics openapi.json accp/v1/sessions accp/v1/sessions/curl/state \
    accp/v1/sessions/curl/context accp/v1/sessions/curl/registry; do
    said=$(curl --silent --max-time 30 -o "$body" -w '%{http_code}' "$url/$path")
    expect "$path" "$said" 200
done
