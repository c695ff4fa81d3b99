//! Hosts among the words of a container's texts.
//!
//! A name alone says too little: with `DB_NAME=orders` it is a database. So a bare word is a host only where its key or
//! its flag says so, or where a port follows; a qualified name, a URL and `name:port` speak for themselves.

use std::iter;

/// The words of a key that make its value a host.
const HOST_WORDS: [&str; 24] = [
    "host",
    "hosts",
    "hostname",
    "hostnames",
    "pghost",
    "pghostaddr",
    "dbhost",
    "addr",
    "addrs",
    "address",
    "addresses",
    "server",
    "servers",
    "endpoint",
    "endpoints",
    "url",
    "urls",
    "uri",
    "uris",
    "dsn",
    "broker",
    "brokers",
    "bootstrap",
    "fqdn",
];

/// As the last word of a key these say that its value is something of the host, and not the host.
const OTHER_WORDS: [&str; 8] = ["user", "username", "password", "database", "schema", "path", "prefix", "type"];

/// The host option of psql, mysql and redis-cli.
const HOST_FLAG: &str = "-h";

/// Finds the hosts of texts that belong together, as the words of one command line do; each with the place of its text.
///
/// `says_host` is whether the texts' own name says that they are hosts.
pub(super) fn hosts<'a>(
    texts: &mut dyn Iterator<Item = &'a str>,
    says_host: bool,
    found: &mut dyn FnMut(usize, &'a str),
) {
    let mut words = texts.enumerate().flat_map(|(place, text)| words(place, text)).peekable();
    let mut walk = Walk { previous: "", texts: says_host, key: says_host, is_in_authority: false };
    while let Some(word) = words.next() {
        if let Some(host) = walk.step(&word, words.peek()) {
            found(word.place, host);
        }
    }
}

/// The key of a variable, of `key=value` or of a flag speaks of a host.
pub(super) fn says_host(key: &str) -> bool {
    let is = |word: &str, known: &[&str]| known.iter().any(|known| word.eq_ignore_ascii_case(known));
    // The key in a URL is only the parameter before the value.
    let name = key.rsplit(['/', '?', '&']).next().unwrap_or(key);
    let words = name.split(|character: char| !character.is_ascii_alphanumeric()).flat_map(camel_words);
    let (mut says_host, mut last) = (key == HOST_FLAG, "");
    for word in words {
        says_host |= is(word, &HOST_WORDS);
        last = word;
    }
    says_host && !is(last, &OTHER_WORDS)
}

/// The words of `bootstrapServers`.
fn camel_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let is_end = |pair: &[u8]| matches!(pair, [one, next] if one.is_ascii_lowercase() && next.is_ascii_uppercase());
        let end = rest.as_bytes().windows(2).position(is_end).map_or(rest.len(), |at| at + 1);
        let (word, after) = rest.split_at_checked(end)?;
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

struct Word<'a> {
    place: usize,
    text: &'a str,
    /// The separator between it and the word before.
    gap: Gap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Other,
    /// The items of a list have one key.
    Comma,
    /// The word before is its key.
    Equals,
}

fn words(place: usize, text: &str) -> impl Iterator<Item = Word<'_>> {
    let ends_word = |character: char| character.is_whitespace() || "\"'`,;=|&<>(){}[]$".contains(character);
    let mut gap = Gap::Other;
    text.split_inclusive(ends_word).filter_map(move |part| {
        let word = part.trim_end_matches(ends_word);
        let end = match part.get(word.len()..) {
            Some("=") => Gap::Equals,
            Some(",") => Gap::Comma,
            _ => Gap::Other,
        };
        // As in `host: db`.
        let (word, end) = word.strip_suffix(':').map_or((word, end), |key| (key, Gap::Equals));
        if word.is_empty() {
            gap = gap.max(end);
            return None;
        }
        let found = Word { place, text: word, gap };
        gap = end;
        Some(found)
    })
}

/// Walks over the words and keeps what says whether the next can be a host.
struct Walk<'a> {
    previous: &'a str,
    /// The texts' own name says that they are hosts.
    texts: bool,
    /// The key that counts here says so.
    key: bool,
    /// A URL lists its hosts, and has not come to its path.
    is_in_authority: bool,
}

impl<'a> Walk<'a> {
    fn step(&mut self, word: &Word<'a>, next: Option<&Word<'a>>) -> Option<&'a str> {
        match word.gap {
            Gap::Equals => self.key = says_host(self.previous),
            Gap::Comma => {}
            Gap::Other if self.previous.starts_with('-') => self.key = says_host(self.previous),
            Gap::Other => self.key = self.texts,
        }
        self.previous = word.text;
        let is_listed = self.is_in_authority && word.gap == Gap::Comma;
        let url = url_address(word.text);
        let address = url.unwrap_or(word.text);
        let authority = address.split(['/', '?', '#']).next().unwrap_or(address);
        self.is_in_authority = (url.is_some() || is_listed) && authority.len() == address.len();
        let is_key = next.is_some_and(|next| next.gap == Gap::Equals);
        if is_key && !word.text.contains(['/', ':', '?']) {
            return None;
        }
        // A single digit counts tries or seconds.
        let is_before_port =
            || next.is_some_and(|next| next.gap != Gap::Equals && next.text.len() > 1 && is_port(next.text));
        let (host, is_clear) = host_of(authority)?;
        let is_host = url.is_some() || is_listed || is_clear || self.key || is_before_port();
        is_host.then_some(host)
    }
}

/// The text after the scheme of a URL; `//db:1521/x` is how Oracle's drivers write one.
fn url_address(word: &str) -> Option<&str> {
    let (before, address) = word.split_once("//")?;
    (before.is_empty() || before.ends_with([':', '@'])).then_some(address)
}

/// The host of an authority, and whether it is one wherever it stands.
fn host_of(authority: &str) -> Option<(&str, bool)> {
    let (user, server) = authority.rsplit_once('@').map_or((None, authority), |(user, server)| (Some(user), server));
    // As drivers for SQL Server write it.
    let server = server.strip_prefix("tcp:").unwrap_or(server);
    let (host, port) = server.split_once(':').map_or((server, None), |(host, port)| (host, Some(port)));
    let has_port = port.and_then(|port| port.split(':').next()).is_some_and(is_port);
    if !has_port && port.is_some_and(|port| !port.is_empty()) {
        return None;
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    // Before `@` stood what a variable is to fill in.
    let is_clear = has_port || user == Some("") || host.contains('.');
    (!host.is_empty() && !host.starts_with('-')).then_some((host, is_clear))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The names and namespaces of the Services that a host can mean: `name.namespace.svc` and its short forms, or the same
/// behind the name of a pod such as `db-0`. A host without a namespace means the one that it is used in.
pub(super) fn services(host: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut labels = host.splitn(5, '.');
    let [first, second, third, fourth] = std::array::from_fn(|_| labels.next());
    let is_svc = |label: Option<&str>| label.is_none_or(|label| label == "svc");
    let is_pod = first.and_then(|first| first.rsplit_once('-')).is_some_and(|(name, ordinal)| {
        !name.is_empty() && !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit())
    });
    let service = first.filter(|_| is_svc(third)).map(|name| (name, second));
    let behind_pod = second.filter(|_| is_pod && is_svc(fourth)).map(|name| (name, third));
    service.into_iter().chain(behind_pod)
}

#[cfg(test)]
mod tests {
    use super::{hosts, says_host, services};
    use crate::testing::test;

    fn found<'a>(texts: &[&'a str]) -> Vec<&'a str> {
        let mut found = Vec::new();
        hosts(&mut texts.iter().copied(), false, &mut |_, host| found.push(host));
        found
    }

    #[test]
    fn a_key_says_host_with_one_of_its_words() {
        for key in [
            "DB_HOST",
            "host",
            "--host",
            "-h",
            "PGHOST",
            "spring.datasource.url",
            "bootstrapServers",
            "dbHost",
            "KAFKA_BOOTSTRAP_SERVERS",
            "x?host",
            "REDIS-ADDR",
        ] {
            assert!(says_host(key), "{key}");
        }
        for key in [
            "",
            "DB_NAME",
            "OTEL_SERVICE_NAME",
            "--database",
            "GHOST",
            "curl",
            "observer",
            "DB_SERVER_USER",
            "http://host/x?name",
            "-H",
        ] {
            assert!(!says_host(key), "{key}");
        }
    }

    #[test]
    fn hosts_are_where_something_says_so() {
        for (text, expected) in [
            ("postgres://u:p@db,db-2/x?host=h&name=n", &["db", "db-2", "h"][..]),
            ("host=db,db-2 dbname=x port=5432 user=y", &["db", "db-2"]),
            ("host = 'db' x", &["db"]),
            ("{\"host\": \"db\", \"hosts\": [\"a\", \"b\"], \"name\": \"x\"}", &["db", "a", "b"]),
            ("--host=db --name=x", &["db"]),
            ("psql -h db -d x", &["db"]),
            ("-Dspring.datasource.host=db", &["db"]),
            ("until nc -z db 5432; do sleep 1; done", &["db"]),
            ("a:1,b:2 c:3/x?y=z", &["a", "b", "c"]),
            ("Server=tcp:db,1433;Database=x", &["db", "1433"]),
            ("jdbc:oracle:thin:@//db:1521/x", &["db"]),
            ("jdbc:oracle:thin:@db:1521:x", &["db"]),
            ("postgres://$(USER):$(PASSWORD)@db/x", &["db"]),
            ("u:p@tcp(db:3306)/x", &["db"]),
            ("postgres://db:db@elsewhere/db", &["elsewhere"]),
            ("run orders now /var/db orders:latest --database=orders --name orders a@b", &[]),
            ("orders 70000", &[]),
        ] {
            assert_eq!(found(&[text]), expected, "{text}");
        }
    }

    #[test]
    fn a_command_line_goes_on_from_word_to_word() {
        assert_eq!(found(&["--host", "db", "orders", "nc", "db", "5432"]), ["db", "db"]);
        let mut places = Vec::new();
        hosts(&mut ["x", "-h", "db"].into_iter(), false, &mut |place, host| places.push((place, host)));
        assert_eq!(places, [(2, "db")]);
    }

    #[test]
    fn a_text_that_is_a_host_by_name_may_hold_others() {
        let mut found = Vec::new();
        hosts(&mut ["db database=x", "a,b"].into_iter(), true, &mut |_, host| found.push(host));
        assert_eq!(found, ["db", "a", "b"]);
    }

    #[test]
    fn a_host_is_a_service_or_a_pod_behind_one() {
        for (host, expected) in [
            ("db", &[("db", None)][..]),
            ("db.shop.svc.cluster.local", &[("db", Some("shop"))]),
            ("db-0.db", &[("db-0", Some("db")), ("db", None)]),
            ("db-0.db.shop.svc.cluster.local", &[("db", Some("shop"))]),
            ("db-0.db.shop", &[("db", Some("shop"))]),
            ("www.db", &[("www", Some("db"))]),
            ("a.db.shop", &[]),
            ("db-0.db.shop.example.com", &[]),
        ] {
            assert_eq!(services(host).collect::<Vec<_>>(), expected, "{host}");
        }
    }
}
