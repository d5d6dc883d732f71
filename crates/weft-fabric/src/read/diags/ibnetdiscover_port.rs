//! A port's line of `ibnetdiscover`: the port, its peer, and the comment about both.

use crate::read::cursor::Cursor;
use crate::subnet::{Kind, LinkRate};

/// `[1](98039b0300000011) "S-506b4b0300000110"[1] # lid 1 lmc 0 "leaf0" lid 3 2xHDR s=4 w=16 v=4`.
#[derive(Default)]
pub(crate) struct PortLine<'a> {
    pub(crate) number: u8,
    pub(crate) guid: Option<u64>,
    pub(crate) lid: Option<u16>,
    pub(crate) lmc: Option<u8>,
    pub(crate) peer_id: &'a str,
    pub(crate) peer_port: u8,
    pub(crate) peer_port_guid: Option<u64>,
    pub(crate) peer_description: Option<&'a str>,
    pub(crate) peer_lid: Option<u16>,
    pub(crate) rate: Option<LinkRate>,
    pub(crate) facts: Vec<(String, String)>,
    /// The expected text where the comment becomes unreadable.
    pub(crate) trouble: Option<&'static str>,
}

impl PortLine<'_> {
    /// Nothing, unless both ends of the cable are there.
    pub(crate) fn of(text: &str) -> Option<PortLine<'_>> {
        let mut cursor = Cursor::new(text);
        let (number, outside) = bracketed(&mut cursor)?;
        let mut line = PortLine { number, ..PortLine::default() };
        line.facts.extend(outside.map(|label| ("Label".to_owned(), label.to_owned())));
        line.guid = parenthesised(&mut cursor)?;
        line.peer_id = cursor.blanks().tag("\"")?.until("\"")?;
        line.peer_port = bracketed(cursor.blanks())?.0;
        line.peer_port_guid = parenthesised(&mut cursor)?;
        if cursor.blanks().tag("#").is_some() {
            line.trouble = line.comment(cursor).err();
        } else {
            line.trouble = line.extras(&mut cursor).err();
        }
        Some(line)
    }
}

impl<'a> PortLine<'a> {
    fn comment(&mut self, mut cursor: Cursor<'a>) -> Result<(), &'static str> {
        const OWN: &str = "# lid 1 lmc 0 \"description\" lid 2 4xHDR";
        if cursor.blanks().tag("lid ").is_some() {
            self.lid = Some(cursor.number().ok_or(OWN)?);
            self.lmc = Some(cursor.tag(" lmc ").and_then(Cursor::number).ok_or(OWN)?);
        }
        const PEER: &str = "the peer's description, its LID and the rate: \"leaf0\" lid 3 4xHDR";
        let description = cursor.blanks().tag("\"").and_then(|tail| tail.until_last("\" lid "));
        self.peer_description = Some(description.ok_or(PEER)?);
        self.peer_lid = Some(cursor.number().ok_or(PEER)?);
        let rate = cursor.blanks().word().and_then(LinkRate::from_word);
        self.rate = Some(rate.ok_or("width and speed of the link, such as 4xHDR")?);
        self.extras(&mut cursor)
    }

    /// ` s=4 w=2 v=4 e=1`, ` slot 3`, ` (scp)`.
    fn extras(&mut self, cursor: &mut Cursor<'a>) -> Result<(), &'static str> {
        while let Some(word) = cursor.blanks().word() {
            if let Some(("s" | "w" | "v" | "e", number)) = word.split_once('=') {
                number.parse::<u32>().map_err(|_| "a number after s=, w=, v= and e=")?;
                // Speed and width are in the rate already, unless there is none.
                if word.starts_with("v=") {
                    self.facts.push(("VLCap".to_owned(), number.to_owned()));
                } else if self.rate.is_none() {
                    self.facts.push((word[..1].to_owned(), number.to_owned()));
                }
            } else if word == "slot" {
                let slot = cursor.blanks().word().ok_or("a number after 'slot'")?;
                self.facts.push(("slot".to_owned(), slot.to_owned()));
            } else if word != "(scp)" {
                return Err("nothing after the rate but s=, w=, v=, e=, a slot or '(scp)'");
            }
        }
        Ok(())
    }
}

/// `[12]`, perhaps with what is printed at the port of a chassis: `[12][ext 3]`.
fn bracketed<'a>(cursor: &mut Cursor<'a>) -> Option<(u8, Option<&'a str>)> {
    let number = cursor.tag("[")?.number()?;
    cursor.tag("]")?;
    let is_chassis = cursor.tag("[ext ").is_some();
    Some((number, if is_chassis { Some(cursor.until("]")?) } else { None }))
}

/// `(98039b0300000011)` after a blank or none; it need not be there, but if so, it must end.
fn parenthesised(cursor: &mut Cursor<'_>) -> Option<Option<u64>> {
    if cursor.blanks().tag("(").is_none() {
        return Some(None);
    }
    let guid = cursor.hex()?;
    cursor.tag(")")?;
    Some(Some(guid))
}

/// The kind by the first letter of an ID such as 'S-506b4b0300000110'.
pub(crate) fn kind_of_id(id: &str) -> Option<Kind> {
    match id.split_once('-')?.0 {
        "S" => Some(Kind::Switch),
        "H" => Some(Kind::Ca),
        "R" => Some(Kind::Router),
        _ => None,
    }
}
