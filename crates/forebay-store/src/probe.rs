//! The check that a bucket honours conditional writes.
//!
//! Some servers accept the headers and ignore them. Machines could then overwrite each other's objects without an
//! error.

use crate::backend::Backend;
use crate::blobs::{Blobs, failure, put};
use crate::database::{Param, retrying};
use crate::failure::Failure;
use object_store::{Error, ObjectStoreExt, PutMode, UpdateVersion};
use tokio_postgres::types::Type;

/// The behaviour of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It honours both conditions.
    Honours,
    /// It replaced an object on a request that only creates one.
    IgnoresCreate,
    /// It replaced an object on a request to replace another version of it.
    IgnoresUpdate,
}

/// Returns the behaviour of the bucket: a result of the last day, or that of a new probe.
pub(crate) async fn check(backend: &Backend, bucket: &str) -> Result<Verdict, Failure> {
    const SEEN: &str = "SELECT 1 FROM forebay_buckets \
        WHERE bucket = $1 AND probed_at > now() - interval '1 day'";
    const EVER_SEEN: &str = "SELECT 1 FROM forebay_buckets WHERE bucket = $1";
    const SEE: &str = "INSERT INTO forebay_buckets VALUES ($1, now()) \
        ON CONFLICT (bucket) DO UPDATE SET probed_at = now()";
    let Some(blobs) = &backend.blobs else { return Ok(Verdict::Honours) };
    let params: [Param<'_>; 1] = [(&bucket, Type::TEXT)];
    if retrying(|_| backend.database.query_opt(SEEN, &params)).await?.is_some() {
        return Ok(Verdict::Honours);
    }
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Failure::Refused(format!("no random bytes: {error}")))?;
    let verdict = match probe(blobs, &forebay::fresh_id(random)).await {
        // A bucket that was honest once may be away for a while; outputs wait for it in the database.
        Err(failure) if retrying(|_| backend.database.query_opt(EVER_SEEN, &params)).await?.is_some() => {
            tracing::warn!("the bucket {bucket} cannot be probed: {failure}");
            return Ok(Verdict::Honours);
        }
        verdict => verdict?,
    };
    if verdict == Verdict::Honours {
        retrying(|_| backend.database.execute(SEE, &params)).await?;
    }
    Ok(verdict)
}

/// Tests both conditions on a separate object, and removes it.
async fn probe(blobs: &Blobs, id: &str) -> Result<Verdict, Failure> {
    let path = blobs.probe_path(id);
    let verdict = try_conditions(blobs, &path).await;
    // An object that is not removed takes a few bytes.
    let _ = blobs.store().delete(&path).await;
    verdict
}

async fn try_conditions(blobs: &Blobs, path: &object_store::path::Path) -> Result<Verdict, Failure> {
    let store = blobs.store();
    let first = put(store, path, b"first", PutMode::Create).await.map_err(failure)?;
    match put(store, path, b"second", PutMode::Create).await {
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
        Ok(_) => return Ok(Verdict::IgnoresCreate),
        Err(error) => return Err(failure(error)),
    }
    let version = UpdateVersion { e_tag: first.e_tag, version: first.version };
    put(store, path, b"third", PutMode::Update(version.clone())).await.map_err(failure)?;
    match put(store, path, b"fourth", PutMode::Update(version)).await {
        Err(Error::Precondition { .. } | Error::AlreadyExists { .. }) => Ok(Verdict::Honours),
        Ok(_) => Ok(Verdict::IgnoresUpdate),
        Err(error) => Err(failure(error)),
    }
}
