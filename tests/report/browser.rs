//! A headless Chromium, driven by the DevTools protocol through a pipe.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A browser that reaches no network.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
    /// Events that came between answers.
    events: Vec<Value>,
    session: String,
    _folder: tempfile::TempDir,
}

/// What a page was found to be.
pub struct Opened {
    /// Messages of the console, and exceptions.
    pub said: Vec<String>,
    /// Addresses that were asked for, the page's own left out.
    pub requests: Vec<String>,
    /// Roles and names of all that a screen reader would tell.
    pub tree: Vec<(String, String)>,
}

impl Opened {
    /// Returns the names of everything with this role.
    pub fn named(&self, role: &str) -> Vec<&str> {
        self.tree.iter().filter(|(of, _)| of == role).map(|(_, name)| name.as_str()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // With all processes of its own, none of which then writes to its folder.
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", self.child.id())]).status();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts it; without one, says so and is nothing.
    pub fn start() -> Option<Browser> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let has = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|ran| ran.status.success());
        let Some(name) = names.into_iter().find(has) else {
            println!("SKIPPED: no Chromium (apt-get install chromium)");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        // The protocol speaks through descriptors 3 and 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";
        let mut command = Command::new("bash");
        command.args(["-c", script, name, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"]);
        command.args(["--no-first-run", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars"]);
        command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=940,1200"]);
        command.arg(format!("--user-data-dir={}", folder.path().display())).env("TMPDIR", folder.path());
        let mut child =
            command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start Chromium");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let (events, session) = (Vec::new(), String::new());
        let mut browser = Browser { child, to, from, next: 0, events, session, _folder: folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session =
            browser.call("Target.attachToTarget", attach)["sessionId"].as_str().expect("a session").into();
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("read from Chromium");
        assert_eq!(bytes.pop(), Some(0), "Chromium has ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Calls a method of the protocol.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(message.to_string().as_bytes()).expect("write to Chromium");
        self.to.write_all(&[0]).expect("write to Chromium");
        loop {
            let answer = self.read();
            match answer["id"].as_u64() {
                Some(id) if id == self.next => {
                    assert!(answer["error"].is_null(), "{method}: {answer}");
                    return answer["result"].clone();
                }
                Some(_) => {}
                None => self.events.push(answer),
            }
        }
    }

    /// Returns the value of an expression on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let told = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(told["exceptionDetails"].is_null(), "{expression}: {told}");
        told["result"]["value"].clone()
    }

    /// Opens a file, and returns what it does and says.
    pub fn open(&mut self, file: &Path) -> Opened {
        self.events.clear();
        let address = format!("file://{}", file.display());
        self.call("Page.navigate", json!({ "url": address }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
        let told = self.call("Accessibility.getFullAXTree", json!({}));
        let of = |event: &Value| -> Option<(bool, String)> {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => {
                    Some((true, parameters.to_string()))
                }
                "Network.requestWillBeSent" => Some((false, parameters["request"]["url"].as_str()?.to_owned())),
                _ => None,
            }
        };
        let seen: Vec<(bool, String)> = self.events.iter().filter_map(of).collect();
        let said = seen.iter().filter(|(said, _)| *said).map(|(_, text)| text.clone()).collect();
        let requests =
            seen.into_iter().filter(|(said, address)| !said && !address.starts_with("file://") && address != "data:,");
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        let nodes = told["nodes"].as_array().expect("a tree").iter().filter(|node| node["ignored"] == false);
        let tree = nodes.map(|node| (text(&node["role"]), text(&node["name"]))).collect();
        Opened { said, requests: requests.map(|(_, address)| address).collect(), tree }
    }
}
