//! Measures `auth-service user import` and `user export` of a million users, on both stores.

use crate::{
    Failure, cluster, console, machine,
    report::{self, Block},
    services,
    verdict::{self, Mark, Verdict},
};
use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    process::Stdio,
    time::Instant,
};
use tokio::process::Command;

/// The hash of every user, which has cost 12 as in Django, Laravel and Supabase. No user logs in.
const HASH: &str = "$2b$12$L6Bc/AlTQHyd9liGgGEZyOFLPHNgyxeEPfgYfBCVxJ7JIlwxyVU3u";

#[derive(clap::Args, Debug)]
pub(crate) struct ImportOptions {
    /// Use a tenth of the users, for a quick check only
    #[arg(long)]
    quick: bool,
}

/// Runs the benchmark and prints its report.
pub(crate) async fn import(options: ImportOptions) -> Result<(), Failure> {
    let count: u32 = if options.quick { 100_000 } else { 1_000_000 };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("users.jsonl");
    write_users(&file, count)?;
    let cluster = cluster::start()?;
    let sqlite = format!("sqlite://{}", folder.path().join("users.db").display());
    let mut verdicts = Vec::new();
    for (name, url) in [
        ("PostgreSQL", &cluster.url("postgres")),
        ("SQLite", &sqlite),
    ] {
        run(url, &["migrate"], Stdio::null()).await?;
        let path = file.to_str().ok_or("a path that is not UTF-8")?;
        for (mode, most) in [(&[][..], 60.0), (&["--skip-existing", "--continue"], 60.0)] {
            console::progress(&format!("{name}: user import {}", mode.join(" ")));
            let started = Instant::now();
            run(
                url,
                &[&["user", "import", path][..], mode].concat(),
                Stdio::null(),
            )
            .await?;
            let seconds = started.elapsed().as_secs_f64();
            let mode = if mode.is_empty() {
                "all or nothing"
            } else {
                "again, all skipped"
            };
            let claim = format!("{name}: {count} users, {mode}");
            verdicts.push(Verdict::once(&claim, seconds, Mark::AtMost(most), " s"));
        }
        console::progress(&format!("{name}: user export"));
        let exported = folder.path().join("exported.jsonl");
        let started = Instant::now();
        run(url, &["user", "export"], File::create(&exported)?.into()).await?;
        let seconds = started.elapsed().as_secs_f64();
        let lines = std::fs::read_to_string(&exported)?.lines().count();
        if u32::try_from(lines)? != count {
            return Err(format!("{name}: {lines} users were exported").into());
        }
        let claim = format!("{name}: export of {count} users");
        verdicts.push(Verdict::once(&claim, seconds, Mark::AtMost(60.0), " s"));
    }
    let blocks = vec![
        Block::Heading("Import and export".to_owned()),
        Block::Table(verdict::table(&verdicts)),
        Block::Heading("Machine".to_owned()),
        Block::List(machine::description(&cluster.programs)),
    ];
    console::print(&report::plain(&blocks));
    Ok(())
}

fn write_users(file: &Path, count: u32) -> Result<(), Failure> {
    let mut file = BufWriter::new(File::create(file)?);
    for number in 0..count {
        writeln!(
            file,
            r#"{{"username":"load-user-{number}","password_hash":"{HASH}"}}"#
        )?;
    }
    Ok(file.flush()?)
}

/// Runs a command of auth-service to its end.
async fn run(database: &str, arguments: &[&str], stdout: Stdio) -> Result<(), Failure> {
    let mut command = Command::new(services::sibling_binary("auth-service")?);
    command
        .args(arguments)
        .env_clear()
        .env("DATABASE_URL", database);
    let status = command
        .stdout(stdout)
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{arguments:?} failed: {status}").into())
    }
}
