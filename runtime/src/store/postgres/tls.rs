//! TLS by rustls: whom to trust, as `sslmode` says. Which mode it is, is read in `address`.

use super::address::{Address, Trust};
use crate::store::{StoreError, StoreErrorKind};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What makes TLS connections to the address.
pub(super) fn connector(address: &Address) -> Result<MakeRustlsConnect, StoreError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| unusable(&format!("TLS can't be set up: {error}")))?;
    let roots = match (address.trust, address.config.get_ssl_mode()) {
        (Trust::Anyone, _) | (_, SslMode::Disable) => None,
        _ => Some(roots(address.root_certificates.as_deref())?),
    };
    let Some(roots) = roots else {
        let anyone = Arc::new(Verifier { authority: None, provider });
        return Ok(MakeRustlsConnect::new(
            builder.dangerous().with_custom_certificate_verifier(anyone).with_no_client_auth(),
        ));
    };
    if address.trust == Trust::Host {
        return Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()));
    }
    let authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let authority = authority.map_err(|error| unusable(&format!("the root certificates can't be used: {error}")))?;
    let verifier = Arc::new(Verifier { authority: Some(authority), provider });
    Ok(MakeRustlsConnect::new(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

fn unusable(message: &str) -> StoreError {
    StoreError::not_done(StoreErrorKind::Unusable, message)
}

/// The authorities of the file, or those that the system trusts.
fn roots(file: Option<&Path>) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        let (added, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if added == 0 {
            return Err(unusable(
                "this machine has no root certificates to trust; name some with `sslrootcert` in the URL",
            ));
        }
        return Ok(roots);
    };
    let unreadable = || unusable(&format!("`sslrootcert` {} can't be read as PEM certificates", file.display()));
    for certificate in CertificateDer::pem_file_iter(file).map_err(|_| unreadable())? {
        roots.add(certificate.map_err(|_| unreadable())?).map_err(|_| unreadable())?;
    }
    if roots.is_empty() { Err(unreadable()) } else { Ok(roots) }
}

/// Trusts an authority, whatever the host's name is (`verify-ca`), or anyone (`require`): libpq's modes, which rustls
/// has no setting for.
#[derive(Debug)]
struct Verifier {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last: all the rest is in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
