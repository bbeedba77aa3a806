//! The command `gpugraph`.

fn main() -> std::process::ExitCode {
    gpugraph::main()
}
