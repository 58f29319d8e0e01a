//! Checks signatures with `ring`. `jsonwebtoken` leaves this to a provider of cryptography.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, new_error};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// Makes `ring` the provider of the process, unless the program has chosen another.
pub(crate) fn install() {
    // `install_default` fails if the program has installed a provider, which can check the same
    // signatures.
    let _ = PROVIDER.install_default();
}

/// Checks the three algorithms of the hub and signs nothing. It has no HMAC, so a public key cannot
/// pass for a secret.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(unsupported()),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(unsupported()),
        rsa_pub_components_from_public_key: |_| Err(unsupported()),
        ec_pub_components_from_private_key: |_, _| Err(unsupported()),
        ed_pub_components_from_private_key: |_, _| Err(unsupported()),
        compute_digest: |_, _| Err(unsupported()),
    },
};

fn unsupported() -> Error {
    new_error(ErrorKind::UnsupportedAlgorithm)
}

fn verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if key.family() != algorithm.family() {
        return Err(new_error(ErrorKind::InvalidAlgorithm));
    }
    let by: &'static dyn VerificationAlgorithm = match algorithm {
        Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
        Algorithm::EdDSA => &ED25519,
        Algorithm::RS256 => return Ok(Box::new(Rs256(key.clone()))),
        _ => return Err(unsupported()),
    };
    Ok(Box::new(Curve {
        algorithm,
        key: UnparsedPublicKey::new(by, key.try_get_as_bytes()?.to_vec()),
    }))
}

/// Checks signatures of ES256 and `EdDSA`.
struct Curve {
    algorithm: Algorithm,
    key: UnparsedPublicKey<Vec<u8>>,
}

impl JwtVerifier for Curve {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Curve {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = self.key.verify(message, signature);
        verified.map_err(|_| signature::Error::new())
    }
}

struct Rs256(DecodingKey);

impl JwtVerifier for Rs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

impl Verifier<Vec<u8>> for Rs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let DecodingKeyKind::RsaModulusExponent { n, e } = self.0.kind() else {
            return Err(signature::Error::new());
        };
        let verified =
            RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature);
        verified.map_err(|_| signature::Error::new())
    }
}
