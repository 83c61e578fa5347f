//! One JSON-RPC message, as its sender wrote it: in memory, or in a file when it is large.
//!
//! Messages are forwarded byte for byte. What must be changed in one is put between ranges of the original, so that
//! everything else stays as it was, numbers and unknown fields included.

use crate::scan::{Scanner, field_of};
use bytes::{Bytes, BytesMut};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A message of more bytes is kept in a file while it is on its way.
pub(crate) const IN_MEMORY: usize = 1024 * 1024;

/// Maximum bytes of a message held in memory if no disk is available. Several such messages at once must not exhaust
/// the machine's memory.
const WITHOUT_DISK: u64 = 256 * 1024 * 1024;

/// Bytes read or copied at a time.
const AT_ONCE: usize = 64 * 1024;

/// Maximum bytes of an id, which answers repeat.
const LONGEST_ID: u64 = 1_024;

/// Stores large messages in files without a name, which vanish when they are closed.
#[derive(Clone, Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    /// Maximum bytes of a message.
    most: u64,
}

impl Spool {
    pub(crate) fn new(folder: impl Into<PathBuf>, most: u64) -> Spool {
        Spool { folder: folder.into(), most }
    }

    /// Checks the length of a message: an endless one would fill the disk.
    fn check(&self, length: u64) -> io::Result<()> {
        if length > self.most {
            Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("a message has more than {} bytes, which is the most (--max-message)", self.most),
            ))
        } else {
            Ok(())
        }
    }

    fn file(&self) -> io::Result<File> {
        // Memory is what is to be spared, and temporary folders are often in memory: the store's disk comes first.
        tempfile::tempfile_in(&self.folder).or_else(|_| tempfile::tempfile())
    }
}

/// A large message while it is written: in a file, or in memory once the disk takes no more.
struct Spooled {
    spool: Spool,
    kept: Kept,
}

enum Kept {
    File(File, u64),
    Memory(Vec<u8>),
}

impl Spooled {
    fn new(spool: &Spool) -> Spooled {
        let kept = spool.file().map_or_else(|_| Kept::Memory(Vec::new()), |file| Kept::File(file, 0));
        Spooled { spool: spool.clone(), kept }
    }

    fn len(&self) -> u64 {
        match &self.kept {
            Kept::File(_, length) => *length,
            Kept::Memory(bytes) => bytes.len() as u64,
        }
    }

    fn push(&mut self, part: &[u8]) -> io::Result<()> {
        let length = self.len() + part.len() as u64;
        self.spool.check(length)?;
        if let Kept::File(file, written) = &mut self.kept {
            let Err(error) = file.write_all(part) else {
                *written = length;
                return Ok(());
            };
            if length > WITHOUT_DISK {
                return Err(error);
            }
            // A full disk must not cost the message. A part of `part` may be in the file already; it is not read back.
            let mut bytes = vec![0; usize::try_from(*written).unwrap_or(0)];
            file.read_exact_at(&mut bytes, 0)?;
            self.kept = Kept::Memory(bytes);
        }
        if let Kept::Memory(bytes) = &mut self.kept {
            if length > WITHOUT_DISK {
                return Err(io::Error::new(
                    io::ErrorKind::StorageFull,
                    format!(
                        "a message has more than {WITHOUT_DISK} bytes, and neither {} nor the temporary folder takes it",
                        self.spool.folder.display()
                    ),
                ));
            }
            bytes.extend_from_slice(part);
        }
        Ok(())
    }

    fn finish(self) -> Message {
        match self.kept {
            Kept::File(file, length) => Message::File { file: Arc::new(file), length },
            Kept::Memory(bytes) => Message::Memory(bytes.into()),
        }
    }
}

impl Write for Spooled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Memory(Bytes),
    File { file: Arc<File>, length: u64 },
}

/// A part of a message that is being composed.
pub(crate) enum Part {
    /// Something new.
    New(Vec<u8>),
    /// Something of the message that it is made from.
    Old(Range<u64>),
}

impl Part {
    pub(crate) fn text(text: impl Into<String>) -> Part {
        Part::New(text.into().into_bytes())
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::Memory(text.into())
    }
}

impl Message {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Message::Memory(bytes) => bytes.len() as u64,
            Message::File { length, .. } => *length,
        }
    }

    pub(crate) fn all(&self) -> Range<u64> {
        0..self.len()
    }

    /// Reads a part of it.
    pub(crate) fn reader(&self, range: Range<u64>) -> Box<dyn BufRead + '_> {
        match self {
            Message::Memory(bytes) => {
                Box::new(bytes.get(range.start as usize..range.end as usize).unwrap_or_default())
            }
            Message::File { file, .. } => {
                let part = Ranged { file: file.clone(), at: range.start, end: range.end };
                Box::new(BufReader::with_capacity(at_once(&range), part))
            }
        }
    }

    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(usize::try_from(range.end - range.start).unwrap_or(0));
        self.reader(range).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A part of it as text; what is not UTF-8 stands as U+FFFD.
    pub(crate) fn text(&self, range: Range<u64>) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.read(range)?).into_owned())
    }

    /// A part of it that is in memory.
    fn slice(&self, range: &Range<u64>) -> Option<&[u8]> {
        match self {
            Message::Memory(bytes) => bytes.get(range.start as usize..range.end as usize),
            Message::File { .. } => None,
        }
    }

    /// A part of it as a value.
    pub(crate) fn value(&self, range: Range<u64>) -> io::Result<serde_json::Value> {
        Ok(serde_json::from_reader(self.reader(range))?)
    }

    /// The value of the string in `range`, if there is one.
    pub(crate) fn string(&self, range: Range<u64>) -> Option<String> {
        match self.slice(&range) {
            Some(bytes) => serde_json::from_slice(bytes).ok(),
            None => serde_json::from_reader(self.reader(range)).ok(),
        }
    }

    /// The value of a field below an object in `range`: `["params", "name"]`.
    pub(crate) fn find(&self, range: Range<u64>, path: &[&str]) -> Option<Range<u64>> {
        path.iter().try_fold(range, |range, name| {
            let field = match self.slice(&range) {
                Some(bytes) => field_of(bytes, range.start, name),
                None => field_of(self.reader(range.clone()), range.start, name),
            };
            field.ok()?
        })
    }

    /// A message made of parts of this one and of new ones.
    pub(crate) fn composed(&self, parts: &[Part], spool: &Spool) -> io::Result<Message> {
        let length = parts.iter().map(|part| match part {
            Part::New(bytes) => bytes.len() as u64,
            Part::Old(range) => range.end - range.start,
        });
        let length: u64 = length.sum();
        if length <= IN_MEMORY as u64 {
            let mut bytes = Vec::with_capacity(length as usize);
            self.write_parts(parts, &mut bytes)?;
            return Ok(Message::Memory(bytes.into()));
        }
        let mut spooled = Spooled::new(spool);
        self.write_parts(parts, &mut spooled)?;
        Ok(spooled.finish())
    }

    fn write_parts(&self, parts: &[Part], to: &mut dyn Write) -> io::Result<()> {
        for part in parts {
            match part {
                Part::New(bytes) => to.write_all(bytes)?,
                Part::Old(range) => {
                    io::copy(&mut self.reader(range.clone()), to)?;
                }
            }
        }
        Ok(())
    }

    /// The message with another text in `range`.
    pub(crate) fn with(&self, range: Range<u64>, text: &str, spool: &Spool) -> io::Result<Message> {
        self.with_all(vec![(range, text.to_owned())], spool)
    }

    /// The message with other texts in some ranges, which do not overlap.
    pub(crate) fn with_all(
        &self,
        mut changes: Vec<(Range<u64>, String)>,
        spool: &Spool,
    ) -> io::Result<Message> {
        changes.sort_by_key(|(range, _)| range.start);
        let (mut parts, mut at) = (Vec::new(), 0);
        for (range, text) in changes {
            parts.extend([Part::Old(at..range.start), Part::text(text)]);
            at = range.end;
        }
        parts.push(Part::Old(at..self.len()));
        self.composed(&parts, spool)
    }

    /// Writes it as a line.
    async fn write_line(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        match self {
            Message::Memory(bytes) => {
                to.write_all(bytes).await?;
                to.write_all(b"\n").await?;
            }
            Message::File { file, length } => {
                let mut at = 0;
                let mut block = vec![0; AT_ONCE * 4];
                while at < *length {
                    let read = tokio::task::block_in_place(|| file.read_at(&mut block, at))?;
                    if read == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    to.write_all(&block[..read]).await?;
                    at += read as u64;
                }
                to.write_all(b"\n").await?;
            }
        }
        to.flush().await
    }
}

/// Writes a message and those waiting after it. Small ones are written together, so that their reader wakes only
/// once.
pub(crate) async fn write_all_ready(
    first: Message,
    waiting: &mut tokio::sync::mpsc::Receiver<Message>,
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut next = Some(first);
    let mut together = Vec::new();
    while let Some(message) = next.take() {
        match message {
            Message::Memory(bytes) if bytes.len() + together.len() < AT_ONCE => {
                together.extend_from_slice(&bytes);
                together.push(b'\n');
            }
            large => {
                to.write_all(&together).await?;
                together.clear();
                large.write_line(to).await?;
            }
        }
        next = waiting.try_recv().ok();
    }
    to.write_all(&together).await?;
    to.flush().await
}

/// A message as a stream of blocks, for a body.
pub(crate) fn blocks(message: Message) -> impl futures_util::Stream<Item = io::Result<Bytes>> {
    futures_util::stream::unfold((message, 0), |(message, at)| async move {
        let end = (at + AT_ONCE as u64 * 4).min(message.len());
        if at == end {
            return None;
        }
        let block = tokio::task::block_in_place(|| message.read(at..end));
        Some((block.map(Bytes::from), (message, end)))
    })
}

/// How much of a part of a file is read at a time. A result may have hundreds of thousands of small parts, and the place to
/// read one into must be no larger than the part.
fn at_once(part: &Range<u64>) -> usize {
    let length = usize::try_from(part.end.saturating_sub(part.start)).unwrap_or(AT_ONCE);
    length.clamp(1, AT_ONCE)
}

/// A part of a file, read without moving the file's own position.
struct Ranged {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for Ranged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.end - self.at).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The outermost fields of a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// As it is written: `7`, `"a"`.
    pub(crate) id: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) params: Option<Range<u64>>,
    pub(crate) result: Option<Range<u64>>,
    pub(crate) error: Option<Range<u64>>,
    /// The range of the id.
    pub(crate) id_at: Option<Range<u64>>,
}

/// A line of a stream.
pub(crate) enum Parsed {
    One(Frame),
    /// A batch, message by message.
    Many(Vec<Range<u64>>),
}

impl Message {
    /// Determines the kind of message; fails if it is neither an object nor an array. Its contents are not validated:
    /// many servers write `NaN`, which is not JSON, for clients that accept it.
    pub(crate) fn parse(&self) -> io::Result<Parsed> {
        match self {
            // Nearly all messages are here, and the scanner of a slice is much the faster.
            Message::Memory(bytes) => self.parse_with(Scanner::new(&bytes[..], 0)),
            Message::File { .. } => {
                tokio::task::block_in_place(|| self.parse_with(Scanner::new(self.reader(self.all()), 0)))
            }
        }
    }

    fn parse_with(&self, mut scanner: Scanner<impl BufRead>) -> io::Result<Parsed> {
        match scanner.first()? {
            b'{' => {}
            b'[' => {
                let mut items = Vec::new();
                scanner.items(|scanner| {
                    items.push(scanner.value()?);
                    Ok(())
                })?;
                scanner.end()?;
                return Ok(Parsed::Many(items));
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "not a JSON-RPC message")),
        }
        let mut frame = Frame::default();
        scanner.fields(|scanner, name| {
            let value = scanner.value()?;
            match name {
                "id" if value.end - value.start <= LONGEST_ID => {
                    frame.id = Some(self.text(value.clone())?).filter(|id| id != "null");
                    frame.id_at = Some(value);
                }
                "id" => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the id of a message is too long",
                    ));
                }
                "method" => frame.method = self.string(value),
                "params" => frame.params = Some(value),
                "result" => frame.result = Some(value),
                "error" => frame.error = Some(value),
                _ => {}
            }
            Ok(())
        })?;
        scanner.end()?;
        Ok(Parsed::One(frame))
    }

    /// A message inside this one, for a batch.
    pub(crate) fn part(&self, range: Range<u64>, spool: &Spool) -> io::Result<Message> {
        self.composed(&[Part::Old(range)], spool)
    }
}

/// A line of what a peer sends.
#[derive(Debug)]
pub(crate) enum Line {
    Message(Message),
    /// The connection ended inside a message.
    Cut(Message),
}

/// Reads messages, one a line.
pub(crate) struct Lines<R> {
    input: R,
    spool: Spool,
    /// Bytes read and not yet returned.
    ready: BytesMut,
    /// Bytes of `ready` known to have no newline.
    searched: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R, spool: Spool) -> Lines<R> {
        Lines { input, spool, ready: BytesMut::new(), searched: 0 }
    }

    /// The next line that is not empty; `None` at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let (message, cut) = match self.line().await? {
                None => return Ok(None),
                Some(line) => line,
            };
            let blank = match &message {
                Message::Memory(bytes) => bytes.trim_ascii().is_empty(),
                Message::File { .. } => false,
            };
            match (blank, cut) {
                (true, _) => {}
                (false, false) => return Ok(Some(Line::Message(message))),
                (false, true) => return Ok(Some(Line::Cut(message))),
            }
        }
    }

    async fn line(&mut self) -> io::Result<Option<(Message, bool)>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.ready[self.searched..]) {
                let mut line = self.ready.split_to(self.searched + at + 1);
                self.searched = 0;
                line.truncate(line.len() - 1);
                if line.ends_with(b"\r") {
                    line.truncate(line.len() - 1);
                }
                return Ok(Some((Message::Memory(line.freeze()), false)));
            }
            self.searched = self.ready.len();
            if self.ready.len() > IN_MEMORY {
                return self.large().await.map(Some);
            }
            if self.fill().await? == 0 {
                let left = std::mem::take(&mut self.ready);
                self.searched = 0;
                return Ok((!left.is_empty()).then(|| (Message::Memory(left.freeze()), true)));
            }
        }
    }

    async fn fill(&mut self) -> io::Result<usize> {
        // Messages that are on their way hold what they were read into, so every new place costs. One serves many reads.
        if self.ready.capacity() - self.ready.len() < AT_ONCE / 8 {
            self.ready.reserve(AT_ONCE);
        }
        self.input.read_buf(&mut self.ready).await
    }

    /// Continues in a file with a line that is too large for memory.
    async fn large(&mut self) -> io::Result<(Message, bool)> {
        let mut spooled = tokio::task::block_in_place(|| Spooled::new(&self.spool));
        loop {
            let end = memchr::memchr(b'\n', &self.ready[self.searched..]).map(|at| self.searched + at);
            let part = &self.ready[..end.unwrap_or(self.ready.len())];
            tokio::task::block_in_place(|| spooled.push(part))?;
            let taken = end.map_or(self.ready.len(), |end| end + 1);
            drop(self.ready.split_to(taken));
            self.searched = 0;
            if end.is_some() {
                return Ok((spooled.finish(), false));
            }
            if self.fill().await? == 0 {
                return Ok((spooled.finish(), true));
            }
        }
    }
}

/// A body that came by HTTP, as it grows.
pub(crate) struct Growing {
    memory: Vec<u8>,
    spooled: Option<Spooled>,
    spool: Spool,
}

impl Growing {
    pub(crate) fn new(spool: Spool) -> Growing {
        Growing { memory: Vec::new(), spooled: None, spool }
    }

    /// Takes more of it. Newlines, which JSON has only between its parts, become spaces: a message is one line.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let line = bytes.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte });
        self.memory.extend(line);
        if self.memory.len() > IN_MEMORY {
            let spooled = self.spooled.get_or_insert_with(|| Spooled::new(&self.spool));
            tokio::task::block_in_place(|| spooled.push(&self.memory))?;
            self.memory.clear();
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spooled.is_none() && self.memory.trim_ascii().is_empty()
    }

    pub(crate) fn finish(self) -> io::Result<Message> {
        match self.spooled {
            None => Ok(Message::Memory(self.memory.trim_ascii().to_vec().into())),
            Some(mut spooled) => {
                spooled.push(&self.memory)?;
                Ok(spooled.finish())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8]) -> Vec<(String, bool)> {
        let mut lines = Lines::new(input, Spool::new(std::env::temp_dir(), u64::MAX));
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(match line {
                Line::Message(message) => (message.text(message.all()).unwrap(), false),
                Line::Cut(message) => (message.text(message.all()).unwrap(), true),
            });
        }
        all
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_line_is_a_message_whatever_its_length() {
        let long = "x".repeat(3 * IN_MEMORY + 17);
        let input = format!("{{}}\r\n\n  \n{long}\n[1]\n{long}");
        let expected =
            [("{}".to_owned(), false), (long.clone(), false), ("[1]".to_owned(), false), (long, true)];
        assert_eq!(lines(input.as_bytes()).await, expected);
        assert_eq!(lines(b"{\"half\":").await, [("{\"half\":".to_owned(), true)]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_message_that_does_not_end_is_given_up() {
        let most = 2 * IN_MEMORY as u64;
        let spool = Spool::new(std::env::temp_dir(), most);
        let endless = tokio::io::AsyncReadExt::chain(&b"{}\n{"[..], tokio::io::repeat(b' '));
        let mut lines = Lines::new(endless, spool.clone());
        assert!(matches!(lines.next().await, Ok(Some(Line::Message(_)))));
        let error = lines.next().await.unwrap_err();
        assert!(error.to_string().contains("more than 2097152 bytes"), "{error}");
        let mut body = Growing::new(spool);
        let given_up = (0..100).find_map(|_| body.push(&[b' '; 100_000]).err()).unwrap();
        assert_eq!(given_up.kind(), io::ErrorKind::FileTooLarge);
        // What has just the most is taken.
        let spool = Spool::new(std::env::temp_dir(), most);
        let line = [vec![b'x'; most as usize], vec![b'\n']].concat();
        assert!(matches!(Lines::new(&line[..], spool).next().await, Ok(Some(Line::Message(_)))));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_message_that_no_disk_takes_stays_in_memory() {
        // A descriptor that cannot be written stands for a disk that is full.
        let full = || Kept::File(File::open("/dev/null").unwrap(), 0);
        let spool = Spool::new(std::env::temp_dir(), u64::MAX);
        let mut spooled = Spooled { spool: spool.clone(), kept: full() };
        spooled.push(b"{\"id\":").unwrap();
        spooled.push(b"7}").unwrap();
        let message = spooled.finish();
        assert_eq!(message.text(message.all()).unwrap(), "{\"id\":7}");
        // What the disk took before it was full is read back.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        std::fs::write(&path, "begun and half of").unwrap();
        let mut spooled = Spooled { spool, kept: Kept::File(File::open(&path).unwrap(), 6) };
        spooled.push(b"and done").unwrap();
        let message = spooled.finish();
        assert_eq!(message.text(message.all()).unwrap(), "begun and done");
    }

    #[test]
    fn a_small_part_of_a_file_is_read_into_a_small_place() {
        let table = [(7..7, 1), (7..8, 1), (100..130, 30), (0..u64::MAX, AT_ONCE)];
        for (part, place) in table {
            assert_eq!(at_once(&part), place, "{part:?}");
        }
    }

    #[test]
    fn only_what_is_meant_is_changed() {
        let text = r#"{"id":1.50,"params":{"_meta":{"progressToken":7},"x":1e400}}"#;
        let message = Message::from(text.to_owned());
        let token = message.find(message.all(), &["params", "_meta", "progressToken"]).unwrap();
        let spool = Spool::new(std::env::temp_dir(), u64::MAX);
        let changed = message.with(token, "\"a\"", &spool).unwrap();
        assert_eq!(changed.text(changed.all()).unwrap(), text.replace('7', "\"a\""));
        assert_eq!(message.find(message.all(), &["params", "none", "x"]), None);
        let Parsed::One(frame) = message.parse().unwrap() else { panic!("one message") };
        assert_eq!(frame.id.as_deref(), Some("1.50"));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for text in ["", "hello", "12", "{\"a\":", "{\"a\":1}x", "\"x\""] {
            assert!(Message::from(text.to_owned()).parse().is_err(), "{text}");
        }
    }
}
