//! `accp serve`: a hub.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use accp_hub::{Config, ListenError, Open, Server, Sessions, Tls, Tokens};
use accp_runtime::AgentId;
use accp_runtime::session::Options;
use accp_store::{Committer, MemoryStore, SqliteStore, StoreError};

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{Output, note};
use crate::registries::RegistryArgs;

/// Run a hub: agents reach their sessions over HTTP and WebSocket
///
/// The hub keeps its sessions in one file. It listens on loopback, where everybody may be any agent;
/// --tokens tells agents apart. Options win over variables of the environment, and these over the
/// file of --config.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp serve
  accp serve team.accp --listen 0.0.0.0:7337 --tokens tokens.toml --tls-cert hub.pem --tls-key hub.key
  accp serve --print-config > hub.toml && accp serve --config hub.toml")]
pub(crate) struct Args {
    /// The file of the sessions, a store of `accp-store`; it is made if there is none
    #[arg(default_value = "hub.accp", env = "ACCP_STORE")]
    store: PathBuf,
    /// Keep the sessions in memory, and lose them at the end
    #[arg(long, conflicts_with = "store")]
    memory: bool,
    /// Settings in TOML; --print-config shows all of them
    #[arg(long, value_name = "FILE", env = "ACCP_CONFIG")]
    config: Option<PathBuf>,
    /// Listen on this address [default: 127.0.0.1:7337]
    #[arg(long, value_name = "ADDRESS", env = "ACCP_LISTEN")]
    listen: Option<SocketAddr>,
    /// Let in only who shows a token of this file
    #[arg(long, value_name = "FILE", env = "ACCP_TOKENS")]
    tokens: Option<PathBuf>,
    /// Speak TLS with the certificates in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "ACCP_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The private key of the first certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "ACCP_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Listen beyond loopback although there are no tokens
    #[arg(long)]
    anybody_from_anywhere: bool,
    /// Print the settings in TOML, and end
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

/// Runs the command, until it is interrupted.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut config = settings(args)?;
    if args.print_config {
        Output::print(config.to_toml().as_bytes())?;
        return Ok(Verdict::Fine);
    }
    let few = accp_hub::make_room(&mut config);
    let agent = AgentId::new(config.agent.clone());
    let agent =
        agent.map_err(|error| Failure::Input(format!("agent = {:?}: {error}", config.agent)))?;
    let registry = Arc::new(args.registry.load()?);
    let options = Options::new(String::new(), agent, registry);
    let options = options.counting(Arc::new(accp_tokens::Bpe::o200k_base()));
    let store = (!args.memory).then(|| args.store.clone());
    let sessions = Sessions::new(&config, move || open(store.as_deref()))?.with_options(options);
    runtime()?.block_on(async {
        let bound = match &args.tokens {
            None => Server::bind(config, sessions, Open).await,
            Some(file) => {
                let tokens =
                    Tokens::read(file).map_err(|error| Failure::Input(error.to_string()))?;
                Server::bind(config, sessions, tokens).await
            }
        };
        let server = bound.map_err(|error| match error {
            ListenError::Tls(..) => Failure::Input(error.to_string()),
            _ => Failure::Misuse(error.to_string()),
        })?;
        let place = if args.memory {
            "in memory".to_owned()
        } else {
            format!("in {}", args.store.display())
        };
        note(format_args!(
            "hub at {}, sessions {place}; Ctrl-C ends it",
            server.url()
        ));
        few.into_iter().for_each(note);
        // The first frame need not wait for the tables.
        std::thread::spawn(|| accp_tokens::Bpe::o200k_base().load());
        let server = with_mcp(server, args.tokens.is_some());
        server.run(interrupted()).await;
        Ok(Verdict::Fine)
    })
}

/// Lets models that speak MCP take part, each as the agent of its path: `/mcp/{session}/{agent}`.
fn with_mcp(server: Server, has_tokens: bool) -> Server {
    let mut settings = accp_mcp::Settings::default();
    if has_tokens {
        // Names that lead to loopback are of no use without a token.
        settings.hosts.clear();
    }
    let agents = server.agents();
    let open = move |session: String, agent: String| {
        let agents = agents.clone();
        async move { agents.agent(&session, &agent).await }
    };
    server.mount("/mcp", accp_mcp::Service::new(open, settings))
}

fn open(file: Option<&std::path::Path>) -> Result<Committer, StoreError> {
    match file {
        None => Ok(Committer::inline(MemoryStore::new())),
        Some(file) => Committer::new(SqliteStore::open(file)?),
    }
}

/// Reads the file of settings, and puts the options in their place.
fn settings(args: &Args) -> Result<Config, Failure> {
    let mut config = match &args.config {
        None => Config::default(),
        Some(file) => {
            let text = fs::read_to_string(file).map_err(Failure::at(file))?;
            Config::from_toml(&text)
                .map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?
        }
    };
    config.listen = args.listen.unwrap_or(config.listen);
    config.anybody_from_anywhere |= args.anybody_from_anywhere;
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        config.tls = Some(Tls {
            certificate: certificate.clone(),
            key: key.clone(),
        });
    }
    Ok(config)
}

/// Makes the runtime of the commands that wait.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| Failure::Io("threads".to_owned(), error))
}

/// Returns when the process is to end: at Ctrl-C, or when the system asks it to.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut asked) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = asked.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
