use super::{BundleError, bundle};

fn bundle_of(modules: &[(&str, &str)]) -> Result<String, BundleError> {
    let read = |name: &str| {
        let (_, text) = modules.iter().find(|(module, _)| *module == name)?;
        Some((*text).to_owned())
    };
    bundle("main.js", read)
}

#[test]
fn each_module_comes_once_and_before_those_that_import_it() {
    let main =
        "// Starts.\nimport { a } from \"./a.js\";\nimport { b, c } from \"./b.js\";\n\na(b, c);\n";
    let a = "import { b } from \"./b.js\";\n/** Returns. */\nexport function a(x) {\n  return x + b;\n}\n";
    let b = "export const b = 1;\nexport async function c() {}\nexport class D extends E {}\n";
    let expected = "const b_js = (() => {\nconst b = 1;\nasync function c() {}\nclass D extends E {}\nreturn { b, c, D };\n})();\n\
        const a_js = (() => {\nconst { b } = b_js;\nfunction a(x) {\nreturn x + b;\n}\nreturn { a };\n})();\n\
        const main_js = (() => {\nconst { a } = a_js;\nconst { b, c } = b_js;\na(b, c);\nreturn {  };\n})();\n";
    let modules = [("main.js", main), ("a.js", a), ("b.js", b)];
    assert_eq!(bundle_of(&modules).as_deref(), Ok(expected));
}

#[test]
fn other_forms_of_modules_are_refused() {
    for line in [
        "import a from \"./a.js\";",
        "import * as a from \"./a.js\";",
        "import { a as b } from \"./a.js\";",
        "import { a } from \"https://example.org/a.js\";",
        "import { a } from './a.js';",
        "export default a;",
        "export let a = 1;",
        "export { a };",
        "const text = `a",
    ] {
        let refused = bundle_of(&[("main.js", line), ("a.js", "")]);
        let expected = BundleError::Unsupported {
            module: "main.js".to_owned(),
            line: line.to_owned(),
        };
        assert_eq!(refused, Err(expected));
    }
}

#[test]
fn missing_and_circular_modules_are_refused() {
    let main = "import { a } from \"./a.js\";";
    let missing = BundleError::NotFound("a.js".to_owned());
    assert_eq!(bundle_of(&[("main.js", main)]), Err(missing));
    let a = "import { b } from \"./main.js\";";
    let circular = BundleError::Circular("main.js".to_owned());
    assert_eq!(bundle_of(&[("main.js", main), ("a.js", a)]), Err(circular));
}
