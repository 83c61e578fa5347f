//! Finds secrets in the output of tools and masks them.
mod assignment;
mod candidate;
mod encoding;
mod filter;
mod mask;
mod place;
mod placeholder;
mod randomness;
mod rules;
mod sample;
mod scanner;
mod schema;
mod secret;
mod text;

pub use mask::{mask, mask_range};
pub use scanner::Scanner;
pub use secret::{Fingerprint, Kind, Secret, Tag};
