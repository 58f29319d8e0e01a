"""Writes samples.json: keys, and tokens that PyJWT has signed with them, valid until the year 2100.

    pip install pyjwt cryptography && python samples.py > samples.json
"""

import json

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

CLAIMS = {
    "iss": "https://login.example.com",
    "aud": ["accp", "other"],
    "sub": "dev",
    "accp_sessions": ["lunch", "team-*"],
    "exp": 4102444800,
}
PRIVATE = {
    "RS256": (rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "ES256": (ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm),
}

keys, tokens = [], {}
for name, (private, algorithm) in PRIVATE.items():
    public = json.loads(algorithm.to_jwk(private.public_key()))
    keys.append({**public, "kid": f"key-{name}", "alg": name, "use": "sig", "key_ops": ["verify"]})
    tokens[name] = jwt.encode(CLAIMS, private, name, headers={"kid": f"key-{name}"})
private = PRIVATE["RS256"][0]
# A key serves for one algorithm, also if it could serve for others.
tokens["PS256"] = jwt.encode(CLAIMS, private, "PS256", headers={"kid": "key-RS256"})
print(json.dumps({"jwks": {"keys": keys}, "tokens": tokens}, indent=2))
