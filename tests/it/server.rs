//! A folder, served on loopback.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// Serves a folder to the end of the tests, and gives its address.
pub(crate) fn serve(root: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let root = root.clone();
            // A client that hangs up early is what some tests are about.
            std::thread::spawn(move || drop(answer(stream, &root)));
        }
    });
    address
}

/// Answers one request; below `/interrupted/` an archive ends in the middle.
fn answer(stream: TcpStream, root: &Path) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut stream = reader.into_inner();
    let asked = request.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
    let (path, is_whole) = match asked.strip_prefix("/interrupted") {
        Some(path) => (path, !path.ends_with(".tar.gz")),
        None => (asked, true),
    };
    let Ok(bytes) = fs::read(root.join(path.trim_start_matches('/'))) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len())?;
    let sent = if is_whole { bytes.len() } else { bytes.len() / 2 };
    if request.starts_with("GET ") { stream.write_all(&bytes[..sent]) } else { Ok(()) }
}
