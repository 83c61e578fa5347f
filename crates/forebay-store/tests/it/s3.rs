//! S3 servers for tests: an honest one (moto, or the one that `FOREBAY_TEST_S3` names) and a liar (s3rver), which
//! `tests/shared/run` installs.

use forebay_store::{BucketAddress, Environment, Origin};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Time in which a server must say its address on a machine under load.
const START: Duration = Duration::from_secs(60);

/// Ends the server when the test process ends, however it ends: then standard input is closed.
const GUARD: &str = r#""$@" 2>&1 < /dev/null & server=$!
cat > /dev/null
kill $server
wait $server"#;

/// A bucket of a running S3 server.
pub(crate) struct S3 {
    /// The guard of a server of our own, which has a port that it chose.
    guard: Option<Child>,
    /// The address, such as `http://127.0.0.1:40111`.
    pub(crate) endpoint: String,
    access: String,
    secret: String,
    /// The bucket.
    pub(crate) name: String,
    _folder: tempfile::TempDir,
}

/// Number of buckets that were used of a server that is not our own.
static BUCKETS: AtomicUsize = AtomicUsize::new(0);

impl S3 {
    /// A server that honours conditional writes.
    pub(crate) fn honest() -> S3 {
        let Ok(named) = std::env::var("FOREBAY_TEST_S3") else { return S3::own() };
        let mut words = named.split_whitespace().map(str::to_owned);
        let (number, process) = (BUCKETS.fetch_add(1, Ordering::Relaxed), std::process::id());
        S3 {
            guard: None,
            endpoint: words.next().unwrap(),
            access: words.next().unwrap(),
            secret: words.next().unwrap(),
            name: format!("outputs-{process}-{number}"),
            _folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The same, which ends with this value.
    pub(crate) fn own() -> S3 {
        S3::start(|_| {
            let mut command = vec![installed("moto/bin/moto_server")];
            command.extend(["-H", "127.0.0.1", "-p", "0"].map(PathBuf::from));
            command
        })
    }

    /// A server that ignores the conditions of writes.
    pub(crate) fn liar() -> S3 {
        S3::start(|folder| {
            let mut command = vec![installed("node_modules/.bin/s3rver"), "-d".into(), folder.to_owned()];
            command
                .extend(["-a", "127.0.0.1", "-p", "0", "--configure-bucket", "outputs"].map(PathBuf::from));
            command
        })
    }

    fn start(command: impl Fn(&std::path::Path) -> Vec<PathBuf>) -> S3 {
        let folder = tempfile::tempdir().unwrap();
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .args(command(folder.path()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (said, heard) = mpsc::channel();
        let mut output = BufReader::new(guard.stdout.take().unwrap());
        // The server must not wait for a reader of its log.
        std::thread::spawn(move || {
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|read| read > 0) {
                let address = line.split_whitespace().find_map(|word| word.rsplit_once("127.0.0.1:"));
                if let Some((_, port)) = address {
                    let _ = said.send(format!("http://127.0.0.1:{port}"));
                }
                line.clear();
            }
            let _ = output.read_to_end(&mut Vec::new());
        });
        let endpoint = heard.recv_timeout(START).expect("the server says its address");
        let (access, secret) = ("S3RVER".to_owned(), "S3RVER".to_owned());
        S3 { guard: Some(guard), endpoint, access, secret, name: "outputs".to_owned(), _folder: folder }
    }

    /// The variables that lead to the server.
    fn environment(&self, endpoint: &str) -> Environment {
        Environment::from([
            ("AWS_ENDPOINT_URL", endpoint),
            ("AWS_ACCESS_KEY_ID", self.access.as_str()),
            ("AWS_SECRET_ACCESS_KEY", self.secret.as_str()),
            ("AWS_REGION", "us-east-1"),
            // Another program's bucket.
            ("AWS_BUCKET", "elsewhere"),
        ])
    }

    /// The address of the bucket with a prefix.
    pub(crate) fn bucket(&self, prefix: &str) -> BucketAddress {
        self.bucket_at(&self.endpoint, prefix)
    }

    /// The same by way of a proxy.
    pub(crate) fn bucket_at(&self, endpoint: &str, prefix: &str) -> BucketAddress {
        let url = format!("s3://{}/{prefix}", self.name);
        BucketAddress::parse(&url, Origin::File, &self.environment(endpoint)).unwrap()
    }

    /// Makes the bucket.
    pub(crate) fn make_bucket(&self) {
        self.curl(&["-X", "PUT"], "");
    }

    /// The names of all objects.
    pub(crate) fn objects(&self) -> Vec<String> {
        let listed = String::from_utf8(self.curl(&[], "?list-type=2")).unwrap();
        let names = listed.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        names.map(str::to_owned).collect()
    }

    /// The bytes of an object.
    pub(crate) fn object(&self, name: &str) -> Vec<u8> {
        self.curl(&[], &format!("/{name}"))
    }

    fn curl(&self, options: &[&str], path: &str) -> Vec<u8> {
        let url = format!("{}/{}{path}", self.endpoint, self.name);
        let user = format!("{}:{}", self.access, self.secret);
        let unsigned = "x-amz-content-sha256: UNSIGNED-PAYLOAD";
        let signed = ["-s", "-f", "-H", unsigned, "--user", &user, "--aws-sigv4", "aws:amz:us-east-1:s3"];
        let output = Command::new("curl").args(signed).args(options).arg(url).output().unwrap();
        assert!(output.status.success(), "{path}: {}", output.status);
        output.stdout
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// A program that `tests/shared/run` has installed.
pub(crate) fn installed(program: &str) -> PathBuf {
    let folder =
        std::env::var_os("FOREBAY_TEST_SERVERS").expect("run `tests/shared/run`, which installs servers");
    PathBuf::from(folder).join(program)
}
