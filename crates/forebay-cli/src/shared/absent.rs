//! The shared store in a build without the feature `shared`.

use crate::error::CliError;
use crate::shared::{Served, StoreSettings, WithShared};
use forebay::store::disk::Observer;
use forebay::store::retention::{Gone, Rules};
use forebay::{DiskStore, Handle, Session, Store};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A configured shared store. It has no value, since this build cannot use one.
#[derive(Clone, Debug)]
pub(crate) enum Shared {}

impl Shared {
    pub(crate) fn new(
        settings: &StoreSettings,
        _: impl Fn(&str) -> bool,
    ) -> Result<Option<Shared>, &'static str> {
        if settings.database.is_empty() && settings.blobs.is_empty() {
            return Ok(None);
        }
        Err("this forebay was built without the shared store; build it with the feature `shared`")
    }

    pub(crate) fn behind(&self, _: Box<dyn Store>, _: &Path) -> WithShared {
        match *self {}
    }

    pub(crate) fn clean(
        &self,
        _: &Rules,
        _: Option<&Session>,
        _everything: bool,
        _dry_run: bool,
    ) -> Result<Vec<Gone>, CliError> {
        match *self {}
    }

    pub(crate) fn share_session(&self, _: &DiskStore, _: &Session, _: Duration) -> Result<(), CliError> {
        match *self {}
    }

    pub(crate) fn check(&self) -> Result<(), CliError> {
        match *self {}
    }

    pub(crate) fn place(&self) -> String {
        match *self {}
    }

    pub(crate) fn serve(&self) -> Result<Served, CliError> {
        match *self {}
    }

    pub(crate) fn observer(&self, _: PathBuf) -> Observer {
        match *self {}
    }

    pub(crate) fn wait(&self, _: &DiskStore, _: &Handle, _: Duration) -> Result<Handle, CliError> {
        match *self {}
    }
}
