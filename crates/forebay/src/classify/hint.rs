//! Hints about the form of an output from the arguments of its call.

use crate::Call;
use crate::classify::languages::Language;

/// The extension of the file that a call reads. It only proposes a form: the bytes have to agree.
pub(crate) struct Hint {
    extension: Option<String>,
}

impl Hint {
    pub(crate) fn of(call: &Call) -> Hint {
        let extension = call.file().and_then(|path| {
            let name = path.rsplit(['/', '\\']).next()?;
            Some(name.rsplit_once('.')?.1.to_ascii_lowercase())
        });
        Hint { extension }
    }

    pub(crate) fn is(&self, extension: &str) -> bool {
        self.extension.as_deref() == Some(extension)
    }

    pub(crate) fn language(&self) -> Option<Language> {
        Language::of_extension(self.extension.as_deref()?)
    }
}
