//! Finds secrets in the output of tools and writes masks in their place.
//!
//! ```
//! use forebay_secrets::Scanner;
//!
//! let scanner = Scanner::new([7; 32]);
//! let masked = scanner.masked(b"$ env\nDB_PASSWORD=s9Kd82kfQ7mPz2Lw\nMAX_TOKENS=100\n");
//! assert_eq!(
//!     String::from_utf8_lossy(&masked),
//!     "$ env\nDB_PASSWORD=[secret: password, 16 characters, #p7w9]\nMAX_TOKENS=100\n"
//! );
//! ```
//!
//! A secret is found in one of four ways, the surest first:
//!
//! 1. Its value is known: the caller passes values that a user registered, or those of environment variables
//!    ([`is_secret_variable`]). They are found in base64, in hexadecimal digits, with escapes, and over line breaks.
//! 2. It has a known form. The files of `secrets/` hold the forms of more than 200 services, and a user can add files
//!    ([`UserRules`]).
//! 3. The place says so: the password of a URL, the body of a private key, a value of a Kubernetes secret.
//! 4. The name beside it says so, and the value looks drawn: `ASANA_PAT=…`.
//!
//! One pass over the text finds the places at which a search can begin, with a table that the build script lays out. All
//! functions take bytes and return values; the crate uses no terminal, network, clock, environment or disk.

mod allow;
mod assignment;
mod candidate;
mod encoding;
mod environment;
mod filter;
mod mask;
mod needles;
mod place;
mod placeholder;
mod randomness;
mod rules;
mod sample;
mod scanner;
mod schema;
mod secret;
mod text;
mod user;
mod values;
mod window;

pub use allow::Allowlist;
pub use environment::is_secret_variable;
pub use mask::{mask, mask_range};
pub use scanner::{NamedValue, Scanner};
pub use secret::{Fingerprint, Kind, ParseFingerprintError, Secret, Tag};
pub use user::{Problem, UserRules};
pub use window::{CONTEXT, window};
