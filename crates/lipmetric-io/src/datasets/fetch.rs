//! Fetching a data set that may not travel with the program, and checking that it is the right one.

use std::path::{Path, PathBuf};
#[cfg(any(feature = "fetch", test))]
use std::time::Duration;

use lipmetric::data::{Table, Values, number};
use sha2::{Digest, Sha256};

use super::{Dataset, find};
use crate::numbers::shortest;
use crate::{Error, Format, ReadOptions, Result, Source, atomic_write, read_table};

/// The most a download may bring; the set itself takes 15 KB.
#[cfg(any(feature = "fetch", test))]
const MAX_DOWNLOAD: u64 = 4 << 20;

/// The folder for fetched data, if the environment names one.
const FOLDER_VARIABLE: &str = "LIPMETRIC_DATA_DIR";

/// Where to fetch from and where to keep what was fetched; the default is the set's own page and [`data_dir`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchOptions {
    /// Another address than the set's own, such as a mirror.
    pub url: Option<String>,
    /// A local copy (LIBSVM or CSV) to take instead of downloading.
    pub from: Option<PathBuf>,
    /// Another folder than [`data_dir`].
    pub folder: Option<PathBuf>,
}

/// A set that is fetched: where it is and what it must hold.
struct Remote {
    dataset: &'static str,
    url: &'static str,
    rows: usize,
    features: usize,
    classes: &'static [(&'static str, usize)],
    /// Of the canonical form, see [`fingerprint`].
    sha256: &'static str,
}

static FOURCLASS: Remote = Remote {
    dataset: "fourclass",
    url: "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/fourclass",
    rows: 862,
    features: 2,
    classes: &[("-1", 555), ("+1", 307)],
    sha256: "5e89d5b76863aac4a2d2249dfe247e0507a261e4f655bbc5275dadb1b2caa701",
};

/// The content of an address; the message of what went wrong otherwise.
type Download = fn(&str) -> Result<Vec<u8>, String>;

/// How this build downloads, if it can.
#[cfg(feature = "fetch")]
const DOWNLOAD: Option<Download> = Some(download);
#[cfg(not(feature = "fetch"))]
const DOWNLOAD: Option<Download> = None;

/// What to do where downloads are not built in.
const NO_DOWNLOADS: &str = "this build cannot download; save the file with a browser and give it with `from = FILE`, or build \
                            with downloads: `feature = fetch`";

/// Fetches a data set (today: `fourclass`), checks it by content (rows, features, classes and a hash of the values
/// in their order) and keeps it as CSV. Returns the path of the kept file. Downloading needs the feature `fetch`; a local
/// copy does not.
///
/// # Errors
/// If the set is unknown or bundled, the download fails or is not built in, or the content is not the expected one.
pub fn fetch(name: &str, options: &FetchOptions) -> Result<PathBuf> {
    let dataset = find(name)?;
    if dataset.is_bundled() {
        let message = format!("`{}` travels with the program; there is nothing to fetch", dataset.name);
        return Err(Error::usage(message));
    }
    fetch_remote(&FOURCLASS, options, DOWNLOAD)
}

/// The folder where fetched data are kept: `LIPMETRIC_DATA_DIR` if set, else `lipmetric` in the platform's folder
/// for application data.
///
/// # Errors
/// If the platform has no such folder and the variable is not set.
pub fn data_dir() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE).filter(|f| !f.is_empty()) {
        return Ok(PathBuf::from(folder));
    }
    let folder = dirs::data_dir().ok_or_else(|| {
        Error::usage(format!("this system names no folder for application data; set {FOLDER_VARIABLE} to one"))
    })?;
    Ok(folder.join("lipmetric"))
}

fn kept_path(remote: &Remote, folder: Option<&Path>) -> Result<PathBuf> {
    let folder = match folder {
        Some(folder) => folder.to_path_buf(),
        None => data_dir()?,
    };
    Ok(folder.join(format!("{}.csv", remote.dataset)))
}

/// A fetched set from the folder where it is kept.
pub(super) fn load_fetched(dataset: &Dataset, folder: Option<&Path>) -> Result<Table> {
    load_remote(&FOURCLASS, dataset.name, folder)
}

fn load_remote(remote: &Remote, name: &str, folder: Option<&Path>) -> Result<Table> {
    let path = kept_path(remote, folder)?;
    if !path.exists() {
        return Err(Error::usage(format!(
            "the data set `{name}` is not on this machine yet; get it with `fetch({name})`"
        )));
    }
    let options = ReadOptions { format: Some(Format::Csv), header: Some(true), ..ReadOptions::default() };
    let mut table = read_table(&Source::Path(path.clone()), &options)?;
    check(remote, &table).map_err(|what| {
        let message = format!("the kept copy of `{name}` was changed ({what}); get it again with `fetch({name})`");
        Error::data(path.display().to_string(), message)
    })?;
    name.clone_into(&mut table.origin);
    Ok(table)
}

fn fetch_remote(remote: &Remote, options: &FetchOptions, download: Option<Download>) -> Result<PathBuf> {
    let path = kept_path(remote, options.folder.as_deref())?;
    let (source, reading) = match &options.from {
        Some(local) => (Source::Path(local.clone()), ReadOptions::default()),
        None => {
            let url = options.url.as_deref().unwrap_or(remote.url);
            let fail = |message| Error::Network { url: url.to_owned(), message };
            let download = download.ok_or_else(|| fail(NO_DOWNLOADS.to_owned()))?;
            let bytes = download(url).map_err(|what| {
                fail(format!(
                    "{what}; if this machine is offline, get the file elsewhere and give it with `from = FILE`"
                ))
            })?;
            (Source::buffer(url, bytes), ReadOptions { format: Some(Format::Libsvm), ..ReadOptions::default() })
        }
    };
    let origin = source.name();
    let refuse = |what: &str| {
        Error::data(&origin, format!("this is not the data set `{}`: {what}; nothing was kept", remote.dataset))
    };
    let table = read_table(&source, &reading).map_err(|e| match e {
        Error::Data { place, message } if options.from.is_none() => {
            let line = place.line.map(|l| format!("line {l}: ")).unwrap_or_default();
            refuse(&format!("{line}{message}"))
        }
        other => other,
    })?;
    check(remote, &table).map_err(|what| refuse(&what))?;
    keep(remote, &table, &path)?;
    Ok(path)
}

/// Downloads a small file.
#[cfg(any(feature = "fetch", test))]
fn download(url: &str) -> Result<Vec<u8>, String> {
    let mut config = ureq::Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(15)))
        .timeout_global(Some(Duration::from_secs(60)))
        .user_agent(concat!("lipmetric/", env!("CARGO_PKG_VERSION")));
    // A proxy cannot reach this very machine.
    if ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|own| url.starts_with(own)) {
        config = config.proxy(None);
    }
    let agent: ureq::Agent = config.build().into();
    let mut response = agent.get(url).call().map_err(|e| explain(&e))?;
    response.body_mut().with_config().limit(MAX_DOWNLOAD).read_to_vec().map_err(|e| explain(&e))
}

#[cfg(any(feature = "fetch", test))]
fn explain(error: &ureq::Error) -> String {
    match error {
        ureq::Error::StatusCode(404) => "the server has no such file any more (404)".to_owned(),
        ureq::Error::StatusCode(code) => format!("the server answered with status {code}"),
        ureq::Error::HostNotFound => "the server's name could not be looked up".to_owned(),
        ureq::Error::Timeout(what) => format!("the server did not answer in time ({what})"),
        ureq::Error::BodyExceedsLimit(_) => format!("the file is larger than {} MiB", MAX_DOWNLOAD >> 20),
        ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            "the connection ended before the file did".to_owned()
        }
        ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => {
            "the server refused the connection".to_owned()
        }
        // The standard library has no kind of its own for this.
        ureq::Error::Io(e) if e.to_string().contains("lookup address") => {
            "the server's name could not be looked up".to_owned()
        }
        ureq::Error::Io(e) => e.to_string(),
        other => other.to_string(),
    }
}

/// A label or value as text that does not depend on how it was written: `1`, `+1` and `1.0` are the same.
fn canonical(cell: &str) -> String {
    number(cell).map_or_else(|| cell.to_owned(), shortest)
}

fn canonical_cell(values: &Values, i: usize) -> String {
    match values {
        Values::Number(v) => shortest(v[i]),
        Values::Text(t) => canonical(t.get(i)),
    }
}

/// SHA-256 of the rows in their order, each as its cells in canonical form with blanks between and a newline after.
fn fingerprint(table: &Table) -> String {
    let mut hash = Sha256::new();
    for i in 0..table.rows() {
        let cells: Vec<String> = table.columns.iter().map(|c| canonical_cell(&c.values, i)).collect();
        hash.update(cells.join(" "));
        hash.update("\n");
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// Whether a table is the expected one; what differs otherwise. The label is the last column.
fn check(remote: &Remote, table: &Table) -> Result<(), String> {
    let features = table.columns.len().saturating_sub(1);
    if table.rows() != remote.rows || features != remote.features {
        return Err(format!(
            "expected {} rows x {} features, found {} x {features}",
            remote.rows,
            remote.features,
            table.rows()
        ));
    }
    let labels = &table.columns[features].values;
    for (class, expected) in remote.classes {
        let class_text = canonical(class);
        let found = (0..table.rows()).filter(|&i| canonical_cell(labels, i) == class_text).count();
        if found != *expected {
            return Err(format!("expected {expected} rows of class {class}, found {found}"));
        }
    }
    if fingerprint(table) != remote.sha256 {
        return Err("the sizes agree but some values or their order differ".to_owned());
    }
    Ok(())
}

/// Keeps a checked table as CSV, its labels spelt as the catalogue has them.
fn keep(remote: &Remote, table: &Table, path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::io_path("create", folder, e))?;
    }
    let spelt = |label: String| {
        remote.classes.iter().find(|(class, _)| canonical(class) == label).map_or(label.clone(), |c| c.0.to_owned())
    };
    atomic_write(path, |out| {
        let names: Vec<String> = (1..=remote.features).map(|j| format!("x{j}")).collect();
        writeln!(out, "{},label", names.join(","))?;
        for i in 0..table.rows() {
            for column in &table.columns[..remote.features] {
                write!(out, "{},", canonical_cell(&column.values, i))?;
            }
            writeln!(out, "{}", spelt(canonical_cell(&table.columns[remote.features].values, i)))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::ErrorKind;

    /// The real set cannot be committed, so the downloader is shown a synthetic one with its own figures.
    static TOY: Remote = Remote {
        dataset: "toy",
        url: "http://127.0.0.1:1/unused",
        rows: 4,
        features: 2,
        classes: &[("-1", 3), ("+1", 1)],
        // printf '1 2 -1\n0 4 1\n5 0.5 -1\n7 8 -1\n' | sha256sum
        sha256: "b415afa1bdc18b1bcc99360b36f331e09171d49cd387019aa8781f4ad1860f8f",
    };
    const TOY_LIBSVM: &str = "-1 1:1 2:2\n+1 2:4\n-1 1:5 2:0.5\n-1 1:7 2:8\n";
    const TOY_CSV: &str = "x1,x2,label\n1,2,-1\n0,4,+1\n5,0.5,-1\n7,8,-1\n";

    /// Serves one canned answer per connection, then ends; returns the address.
    fn serve(answers: Vec<Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/toy", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let mut request = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while request.read_line(&mut line).is_ok_and(|n| n > 2) {
                    line.clear();
                }
                // The client may hang up first, when it was told of too much.
                let _ = stream.write_all(&answer);
            }
        });
        address
    }

    fn ok(body: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).into_bytes()
    }

    fn attempt(url: String) -> (tempfile::TempDir, Result<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let options = FetchOptions { url: Some(url), from: None, folder: Some(folder.path().to_path_buf()) };
        let result = fetch_remote(&TOY, &options, Some(download));
        (folder, result)
    }

    fn refused(url: String, kind: ErrorKind) -> String {
        let (folder, result) = attempt(url);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was kept");
        error.to_string()
    }

    #[test]
    fn a_good_answer_is_checked_and_kept_as_csv() {
        let (folder, result) = attempt(serve(vec![ok(TOY_LIBSVM)]));
        let path = result.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), TOY_CSV);
        let table = load_remote(&TOY, "toy", Some(folder.path())).unwrap();
        assert_eq!((table.rows(), table.origin.as_str()), (4, "toy"));
    }

    #[test]
    fn a_redirect_is_followed() {
        let goal = serve(vec![ok(TOY_LIBSVM)]);
        let moved = format!("HTTP/1.1 302 Found\r\nLocation: {goal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        attempt(serve(vec![moved.into_bytes()])).1.unwrap();
    }

    #[test]
    fn a_missing_page_is_told() {
        let gone = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
        let text = refused(serve(vec![gone]), ErrorKind::Network);
        assert!(text.contains("404") && text.contains("`from = FILE`"), "{text}");
    }

    #[test]
    fn a_download_that_breaks_off_is_told() {
        let mut cut = ok(TOY_LIBSVM);
        cut.truncate(cut.len() - 10);
        let text = refused(serve(vec![cut]), ErrorKind::Network);
        assert!(text.contains("the connection ended before the file did") && text.contains("`from = FILE`"), "{text}");
    }

    #[test]
    fn a_refused_connection_is_told() {
        // Bound and dropped at once, so that nobody listens there.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = refused(format!("http://127.0.0.1:{port}/toy"), ErrorKind::Network);
        assert!(text.contains("refused the connection") && text.contains("`from = FILE`"), "{text}");
    }

    #[test]
    fn a_build_without_downloads_says_where_the_file_is_and_both_ways_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let options = FetchOptions { folder: Some(folder.path().to_path_buf()), ..FetchOptions::default() };
        let error = fetch_remote(&FOURCLASS, &options, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Network);
        let text = error.to_string();
        for words in [FOURCLASS.url, "`from = FILE`", "`feature = fetch`"] {
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn too_much_is_not_downloaded() {
        let text = refused(serve(vec![ok(&"1 1:1\n".repeat(1 << 20))]), ErrorKind::Network);
        assert!(text.contains("larger than 4 MiB"), "{text}");
    }

    #[test]
    fn other_content_is_refused_with_the_difference() {
        for (body, words) in [
            (TOY_LIBSVM.lines().next().unwrap().to_owned(), "expected 4 rows x 2 features, found 1 x 2"),
            (TOY_LIBSVM.replace("+1", "-1"), "expected 3 rows of class -1, found 4"),
            (TOY_LIBSVM.replace("2:8", "2:9"), "some values or their order differ"),
            ("<html>moved</html>".to_owned(), "this is no table but a web page"),
            ("moved on".to_owned(), "line 1: found `on`"),
        ] {
            let text = refused(serve(vec![ok(&body)]), ErrorKind::Data);
            assert!(text.contains(words) && text.contains("not the data set `toy`"), "{text}");
        }
    }

    #[test]
    fn a_local_copy_is_taken_in_either_format_and_any_spelling_of_labels() {
        for (name, content) in [
            ("copy.libsvm", TOY_LIBSVM.to_owned()),
            ("copy.csv", TOY_CSV.replace("+1", "1.0")),
            ("copy", TOY_LIBSVM.replace("+1", "1")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let from = folder.path().join(name);
            std::fs::write(&from, content).unwrap();
            let kept = folder.path().join("new/folder");
            let options = FetchOptions { from: Some(from), folder: Some(kept), url: None };
            let path = fetch_remote(&TOY, &options, None).unwrap();
            assert_eq!(std::fs::read_to_string(path).unwrap(), TOY_CSV, "{name}");
        }
    }

    #[test]
    fn a_changed_copy_is_noticed_and_an_absent_one_explained() {
        let folder = tempfile::tempdir().unwrap();
        let text = load_remote(&TOY, "toy", Some(folder.path())).unwrap_err().to_string();
        assert!(text.contains("`fetch(toy)`"), "{text}");
        std::fs::write(folder.path().join("toy.csv"), TOY_CSV.replace('8', "9")).unwrap();
        let text = load_remote(&TOY, "toy", Some(folder.path())).unwrap_err().to_string();
        assert!(text.contains("was changed") && text.contains("`fetch(toy)`"), "{text}");
    }

    #[test]
    fn bundled_sets_need_no_fetching() {
        let error = fetch("voting", &FetchOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(fetch("nothing", &FetchOptions::default()).unwrap_err().to_string().contains("fourclass"));
    }

    #[test]
    fn the_catalogue_and_the_check_agree() {
        let dataset = find("fourclass").unwrap();
        assert_eq!((dataset.rows, dataset.features), (FOURCLASS.rows, FOURCLASS.features));
        assert_eq!(dataset.classes, FOURCLASS.classes);
    }
}
