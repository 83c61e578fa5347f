//! The preset `handle`: nothing of the output, only a message that names it.

use crate::view::{View, Wording};
use crate::{Output, Result};

/// One gap over everything; the message is the opening.
pub(crate) fn fold(output: &Output) -> Result<View> {
    let message = format!(
        "{}The handle is a relative path under the tool_output root.\n\
         Provide precise and detailed instructions in `extract` about what you are looking for.\n",
        short_message(output)?
    );
    Ok(View::showing(output, &[], Wording::Silent)?.framed(message, ""))
}

/// First two lines of the message, for a context without room for the rest: the size of the output, and the call that reads
/// it.
pub(crate) fn short(output: &Output) -> Result<View> {
    Ok(View::showing(output, &[], Wording::Silent)?.framed(short_message(output)?, ""))
}

fn short_message(output: &Output) -> Result<String> {
    let size = output.record().size;
    let (tokens, _) = output.tokens()?;
    Ok(format!(
        "Tool output is too large ({} bytes, {} lines, {tokens} tokens).\n\
         Call tool_output(handle = \"{}\", extract = \"what to extract\").\n",
        size.bytes,
        size.lines,
        output.record().handle,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use expect_test::expect;

    #[test]
    fn the_message_is_the_one_that_models_know() {
        let output = output_of("some words\n".repeat(2_000).as_bytes());
        let text = fold(&output).unwrap().print(&output).unwrap();
        expect![[r#"
            Tool output is too large (22000 bytes, 2000 lines, 6000 tokens).
            Call tool_output(handle = "s/id1234", extract = "what to extract").
            The handle is a relative path under the tool_output root.
            Provide precise and detailed instructions in `extract` about what you are looking for.
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap());
    }
}
