//! The address of a bucket.

use crate::address::{Environment, Origin, is_local};
use crate::blobs::{Blobs, without_signatures};
use crate::error::OpenError;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use std::{fmt, sync::Arc, time::Duration};

/// Maximum retries of a request, and the time after which no retry starts: the result of a tool waits for it.
const RETRIES: usize = 3;
const RETRY_TIME: Duration = Duration::from_secs(10);

/// Timeouts for connecting, and for a request with at most 8 MiB.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Variables that name another server than the service's own.
const ENDPOINTS: [&str; 6] = [
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT",
    "GOOGLE_BASE_URL",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
];

/// Kind of bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    S3,
    Google,
    Azure,
}

/// The address of a bucket, with credentials: `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
///
/// Credentials, regions and endpoints come from the variables that each service's own tools use, such as
/// `AWS_ACCESS_KEY_ID`, `AWS_REGION` and `AWS_ENDPOINT_URL`. Its text form has none of them.
#[derive(Clone)]
pub struct BucketAddress {
    service: Service,
    bucket: String,
    prefix: Path,
    environment: Environment,
}

impl BucketAddress {
    /// Reads an address.
    pub fn parse(url: &str, origin: Origin, environment: &Environment) -> Result<BucketAddress, OpenError> {
        let invalid = |why: &str| OpenError::Address(format!("the address of the bucket {why}"));
        let schemes = [("s3://", Service::S3), ("gs://", Service::Google), ("az://", Service::Azure)];
        let known = schemes.iter().find_map(|(scheme, service)| Some((url.strip_prefix(scheme)?, *service)));
        let (rest, service) = known.ok_or_else(|| invalid("must begin with s3://, gs:// or az://"))?;
        if rest.contains('@') {
            let place = if origin == Origin::File { "in a settings file " } else { "" };
            return Err(invalid(&format!(
                "{place}has credentials; remove them, and set those of the service in the environment, such as \
                 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )));
        }
        if rest.contains(['?', '#']) {
            return Err(invalid("has options after '?'; set them in the environment, such as AWS_REGION"));
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(invalid("names no bucket; write s3://bucket/prefix"));
        }
        let prefix = Path::parse(prefix.trim_end_matches('/'))
            .map_err(|error| invalid(&format!("has an invalid prefix: {error}")))?;
        Ok(BucketAddress { service, bucket: bucket.to_owned(), prefix, environment: environment.clone() })
    }

    /// Name of the bucket and its server, under which the result of the probe is stored.
    pub(crate) fn identity(&self) -> String {
        let endpoint = ENDPOINTS.iter().find_map(|name| self.environment.get(name)).unwrap_or_default();
        without_signatures(&format!("{self} {endpoint}"))
    }

    /// A client of the bucket.
    pub(crate) fn connect(&self) -> Result<Blobs, OpenError> {
        // Another part of the program may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = match self.service {
            Service::S3 => self.s3(),
            Service::Google => self.google(),
            Service::Azure => self.azure(),
        };
        let store = store.map_err(|error| {
            OpenError::Address(format!("cannot use {self}: {}", without_signatures(&error.to_string())))
        })?;
        Ok(Blobs::new(store, self.prefix.clone()))
    }

    fn s3(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let options = client_options(self.is_local_endpoint(&[
            "AWS_ENDPOINT_URL_S3",
            "AWS_ENDPOINT_URL",
            "AWS_ENDPOINT",
        ]));
        let mut builder = AmazonS3Builder::new().with_client_options(options).with_retry(retries());
        for (name, value) in self.environment.starting_with("AWS_") {
            match name.parse::<AmazonS3ConfigKey>() {
                Ok(AmazonS3ConfigKey::Client(key)) if !is_taken(key) => {}
                Ok(key) => builder = builder.with_config(key, value),
                // A variable for other programs.
                Err(_) => {}
            }
        }
        // Variables of other programs, such as AWS_BUCKET, may name another bucket.
        Ok(Arc::new(builder.with_bucket_name(&self.bucket).build()?))
    }

    fn google(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let options = client_options(self.is_local_endpoint(&["GOOGLE_BASE_URL"]));
        let mut builder = GoogleCloudStorageBuilder::new().with_client_options(options).with_retry(retries());
        for (name, value) in self.environment.starting_with("GOOGLE_") {
            match name.parse::<GoogleConfigKey>() {
                Ok(GoogleConfigKey::Client(key)) if !is_taken(key) => {}
                Ok(key) => builder = builder.with_config(key, value),
                // A variable for other programs.
                Err(_) => {}
            }
        }
        Ok(Arc::new(builder.with_bucket_name(&self.bucket).build()?))
    }

    fn azure(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let options = client_options(self.is_local_endpoint(&["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"]));
        let mut builder = MicrosoftAzureBuilder::new().with_client_options(options).with_retry(retries());
        for (name, value) in self.environment.starting_with("AZURE_") {
            match name.parse::<AzureConfigKey>() {
                Ok(AzureConfigKey::Client(key)) if !is_taken(key) => {}
                Ok(key) => builder = builder.with_config(key, value),
                // A variable for other programs.
                Err(_) => {}
            }
        }
        Ok(Arc::new(builder.with_container_name(&self.bucket).build()?))
    }

    /// Whether the service is a server on this machine, so that requests need not be encrypted.
    fn is_local_endpoint(&self, variables: &[&str]) -> bool {
        let endpoint = variables.iter().find_map(|name| self.environment.get(name));
        let host = endpoint.and_then(|url| url.strip_prefix("http://")).map(|rest| {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
            match authority.rsplit_once(':') {
                Some((host, port)) if is_port(port) => host.to_owned(),
                _ => authority.to_owned(),
            }
        });
        host.is_some_and(|host| is_local(&host))
    }
}

/// Whether an option of the HTTP client is taken from the environment. Those that weaken TLS or lengthen waits are not.
fn is_taken(key: ClientConfigKey) -> bool {
    matches!(
        key,
        ClientConfigKey::ProxyUrl | ClientConfigKey::ProxyCaCertificate | ClientConfigKey::ProxyExcludes
    )
}

fn client_options(may_be_plain: bool) -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(may_be_plain)
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(REQUEST_TIMEOUT)
}

fn retries() -> RetryConfig {
    RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIME, ..RetryConfig::default() }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.service {
            Service::S3 => "s3",
            Service::Google => "gs",
            Service::Azure => "az",
        };
        write!(f, "{scheme}://{}/{}", self.bucket, self.prefix)
    }
}

impl fmt::Debug for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_service_bucket_and_prefix() {
        let table = [
            ("s3://bucket", Ok("s3://bucket/")),
            ("s3://bucket/", Ok("s3://bucket/")),
            ("s3://bucket/a/b/", Ok("s3://bucket/a/b")),
            ("gs://bucket/a", Ok("gs://bucket/a")),
            ("az://container/a", Ok("az://container/a")),
            ("s3://", Err("names no bucket")),
            ("s3:///a", Err("names no bucket")),
            ("s3://bucket/a//b", Err("invalid prefix")),
            ("s3://bucket/a/../b", Err("invalid prefix")),
            ("file:///tmp", Err("must begin with s3://, gs:// or az://")),
            ("bucket", Err("must begin with s3://, gs:// or az://")),
        ];
        for (url, expected) in table {
            let parsed = BucketAddress::parse(url, Origin::Process, &Environment::default());
            match (parsed.map_err(|error| error.to_string()), expected) {
                (Ok(address), Ok(shown)) => assert_eq!(address.to_string(), shown),
                (Err(error), Err(part)) => assert!(error.contains(part), "{url}: {error}"),
                (parsed, _) => panic!("{url}: {parsed:?}"),
            }
        }
    }

    #[test]
    fn credentials_in_an_address_are_refused_and_not_repeated() {
        for url in ["s3://key:hush@bucket/a", "s3://bucket/a?secret_access_key=hush", "az://c?sig=hush"] {
            for origin in [Origin::File, Origin::Process] {
                let error =
                    BucketAddress::parse(url, origin, &Environment::default()).unwrap_err().to_string();
                assert!(error.contains("environment") && !error.contains("hush"), "{error}");
            }
        }
    }

    #[test]
    fn only_a_server_on_this_machine_may_be_asked_in_plain_text() {
        // endpoint, whether plain text is allowed
        let table = [
            (None, false),
            (Some("http://localhost:9000"), true),
            (Some("http://127.0.0.1:9000/path"), true),
            (Some("http://[::1]:9000"), true),
            (Some("http://minio:9000"), false),
            (Some("http://localhost.example.com"), false),
            (Some("https://localhost:9000"), false),
        ];
        for (endpoint, expected) in table {
            let environment = match endpoint {
                Some(endpoint) => Environment::from([("AWS_ENDPOINT_URL", endpoint)]),
                None => Environment::default(),
            };
            let address = BucketAddress::parse("s3://bucket", Origin::Process, &environment).unwrap();
            assert_eq!(address.is_local_endpoint(&["AWS_ENDPOINT_URL"]), expected, "{endpoint:?}");
        }
    }
}
