//! A reply on its way out: the payload, then one status line.

use std::io::{self, Write};

use crate::script::reply::Reply;

/// Counts the replies and remembers which place was told last.
#[derive(Default, Debug)]
pub struct Replies {
    seq: u64,
    last_place: Option<String>,
}

impl Replies {
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends one reply with one write.
    pub fn send(&mut self, reply: &Reply, prompt: &str, out: &mut impl Write) -> io::Result<()> {
        let mut text = self.render(reply);
        text.push_str(prompt);
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn render(&mut self, reply: &Reply) -> String {
        self.seq += 1;
        let verdict = if reply.ok { "ok" } else { "err" };
        let mut text = format!("{}={} {verdict} {}", reply.payload, self.seq, reply.state);
        if let Some(place) = &reply.place
            && self.last_place.as_ref() != Some(place)
        {
            text.push(' ');
            text.push_str(place);
        }
        text.push('\n');
        self.last_place.clone_from(&reply.place);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::signal::Signal;
    use crate::session::event::State;

    fn reply(payload: &str, ok: bool, state: State, place: Option<&str>) -> Reply {
        Reply {
            payload: payload.into(),
            ok,
            code: None,
            state,
            place: place.map(str::to_owned),
        }
    }

    #[track_caller]
    fn check(replies: &mut Replies, reply: &Reply, expected: &str) {
        let mut out = Vec::new();
        replies.send(reply, "", &mut out).expect("a vector");
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn the_place_is_told_when_it_changed() {
        let replies = &mut Replies::new();
        let at = |place| reply("", true, State::Stopped, Some(place));
        check(replies, &reply("", true, State::None, None), "=1 ok none\n");
        check(
            replies,
            &at("0x1 main w.c:3"),
            "=2 ok stopped 0x1 main w.c:3\n",
        );
        check(replies, &at("0x1 main w.c:3"), "=3 ok stopped\n");
        check(
            replies,
            &at("0x2 main+0x1 w.c:3"),
            "=4 ok stopped 0x2 main+0x1 w.c:3\n",
        );
        check(
            replies,
            &reply("", true, State::Running, None),
            "=5 ok running\n",
        );
        check(
            replies,
            &at("0x2 main+0x1 w.c:3"),
            "=6 ok stopped 0x2 main+0x1 w.c:3\n",
        );
    }

    #[test]
    fn the_payload_comes_first() {
        let replies = &mut Replies::new();
        check(
            replies,
            &reply("error\tno_symbol\tx\n", false, State::Exited(42), None),
            "error\tno_symbol\tx\n=1 err exited 42\n",
        );
        let killed = Signal::new(9).map_or(State::None, State::Killed);
        check(
            replies,
            &reply("", true, killed, None),
            "=2 ok killed SIGKILL\n",
        );
    }
}
