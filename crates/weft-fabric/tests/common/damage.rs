//! What happens to the output of tools on its way into a file.

/// As after a visit to Windows.
pub(crate) fn with_carriage_returns(text: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(text).replace('\n', "\r\n").into_bytes()
}

/// With what the libraries write to stderr, before every third line.
pub(crate) fn with_noise(text: &[u8]) -> Vec<u8> {
    let noise =
        "ibwarn: [17611] sim_connect: attached as client 0 at node \"H-98039b0300000010\"\n";
    let text = String::from_utf8_lossy(text).into_owned();
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .flat_map(|(n, line)| [if n % 3 == 0 { noise } else { "" }, line])
        .collect::<String>()
        .into()
}

/// With a line of 64 KiB after the fifth one.
pub(crate) fn with_a_long_line(text: &[u8]) -> Vec<u8> {
    let mut line = vec![b'x'; 1 << 16];
    line.push(b'\n');
    after_line(5, text, &line)
}

/// With a line of bytes that are no text after the fifth one.
pub(crate) fn with_bytes(text: &[u8]) -> Vec<u8> {
    after_line(5, text, b"\x7fELF\x02\x00\xff\xfe\x80\n")
}

fn after_line(number: usize, text: &[u8], more: &[u8]) -> Vec<u8> {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let at = ends.map(|(at, _)| at + 1).nth(number - 1).expect("so many lines");
    [&text[..at], more, &text[at..]].concat()
}
