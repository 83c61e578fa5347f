use super::{SMALL, answer, noise, unlike};
use crate::Budget;
use crate::rank::unasked;
use crate::store::memory::output_of;

#[test]
fn lines_shown_beside_a_better_failure_are_not_shown_again() {
    let trace: String = (0..24).map(|n| format!("    at the::same::call::number{n}\n")).collect();
    let text = noise(0, 1_500)
        + "error: the first cause of it\n"
        + &trace
        + &noise(1_500, 1_750)
        + "fatal: the second cause of it\n"
        + &trace;
    let budget = Budget { tokens: 300, bytes: 8_000, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", budget).text).unwrap();
    assert!(shown.contains("the first cause") && shown.contains("the second cause"), "{shown}");
    assert_eq!(shown.matches("number2\n").count(), 1, "{shown}");
}

#[test]
fn the_common_lines_of_many_failures_are_shown_with_one_of_them() {
    let linked = |n: u64| {
        let objects: String =
            (0..12).map(|part| format!(" CMakeFiles/test_{n}.dir/part_{part}.c.o")).collect();
        format!(
            "FAILED: tests/test_{n} \n: && /usr/bin/cc -g{objects} -o tests/test_{n}\n/usr/bin/ld: liba.so: undefined reference to `a_new'\ncollect2: error: ld returned 1 exit status\n"
        )
    };
    let built: String = (0..22).map(|n| noise(n * 20, n * 20 + 20) + &linked(n)).collect();
    let failed: String =
        (0..22).map(|n| format!("{n}/22 Test #{n}: test_{n} ....***Failed 0.1 sec\n")).collect();
    let text = built + "ninja: build stopped: cannot make progress due to previous errors.\n" + &failed;
    let budget = Budget { tokens: 400, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "why did it fail?", budget).text).unwrap();
    assert!(shown.contains("undefined reference to `a_new'"), "{shown}");
}

#[test]
fn of_a_long_trace_the_calls_nearest_to_its_end_are_shown() {
    let call =
        |n: u64| format!("  File \"/lib/framework/part{n}.py\", line {n}, in handle\n    next(request)\n");
    let text = noise(0, 100)
        + "Traceback (most recent call last):\n"
        + &(0..30).map(call).collect::<String>()
        + "  File \"app/orders.py\", line 7, in total\n    return self.count / self.parts\n"
        + "ZeroDivisionError: division by zero\n"
        + &noise(100, 160);
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    let end = "in total\n    return self.count / self.parts\nZeroDivisionError: division by zero\n";
    assert!(shown.contains(end), "{shown}");
}

#[test]
fn a_stack_trace_before_the_end_is_skipped() {
    let calls: String = (0..40).map(|n| format!("    at Module{n}.load (module.js:{n})\n")).collect();
    let text = noise(0, 200)
        + "it is not a thing that one calls\n"
        + &calls
        + "The command \"cake\" exited with 1.\n";
    let budget = Budget { tokens: 200, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", budget).text).unwrap();
    assert!(shown.contains("not a thing that one calls"), "{shown}");
}

#[test]
fn frames_of_a_better_failure_weigh_less_than_others() {
    let trace = |error: &str, own: &str| {
        let calls = (0..4).map(|n| format!("    at Runner.step{n} (runner.js:{n})\n"));
        format!("{error}\n    at {own} (shop.js:7)\n") + &calls.collect::<String>()
    };
    let text = noise(0, 50)
        + &trace("TypeError: the price is missing", "Shop.price")
        + &noise(50, 60)
        + &trace("RangeError: the tax is invalid", "Shop.tax");
    let units = unasked(&output_of(text.as_bytes())).unwrap().0;
    let worths = |call: &str| -> Vec<f32> {
        units.iter().filter(|unit| unit.text.contains(call)).map(|unit| unit.score).collect()
    };
    let [shared, shared_first] = worths("Runner.step0")[..] else { panic!("two traces have it") };
    let own = worths("Shop.price")[0].min(worths("Shop.tax")[0]);
    assert!(shared.min(shared_first) < own * 0.8, "{shared} {shared_first} {own}");
}

#[test]
fn frames_in_colour_are_frames() {
    let call = |n: u64| format!("    \u{1b}[1mat\u{1b}[m Module{n}.load (module.js:{n})\n");
    let text = noise(0, 200)
        + "it is not a thing that one calls\n"
        + &(0..40).map(call).collect::<String>()
        + "The command \"cake\" exited with 1.\n";
    let budget = Budget { tokens: 200, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", budget).text).unwrap();
    assert!(shown.contains("not a thing that one calls"), "{shown}");
}

#[test]
fn the_lines_below_a_failure_that_belong_to_it_are_shown() {
    let finding = |n: u64| format!("  {n}:5  warning  the name is never used  no-unused\n");
    let text = noise(0, 100)
        + "src/channel.js\n"
        + &(1..15).map(finding).collect::<String>()
        + "  19:6  error  the key is there twice  no-dupe-keys\n"
        + &(20..60).map(finding).collect::<String>()
        + &noise(100, 160);
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("src/channel.js") && shown.contains("the key is there twice"), "{shown}");
}

#[test]
fn after_a_failed_step_there_is_only_clean_up() {
    let cleaned: String = ('a'..'m').map(|name| format!("the cache of {name} is put away\n")).collect();
    let text = noise(0, 40)
        + "fetching the index\nit has no entry of that name\nThe command \"make\" exited with 2.\n"
        + &cleaned
        + "Done. Your build exited with 1.\n";
    let budget = Budget { tokens: 400, bytes: 8_000, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", budget).text).unwrap();
    assert!(shown.contains("it has no entry of that name\nThe command \"make\" exited with 2.\n"), "{shown}");
    assert!(!shown.contains("the cache of e"), "{shown}");
}

/// Score of the first line that contains a text, without a question.
fn worth_of(text: &str, having: &str) -> f32 {
    let units = unasked(&output_of(text.as_bytes())).unwrap().0;
    let mut units: Vec<_> = units.iter().filter(|unit| unit.text.contains(having)).collect();
    units.sort_by_key(|unit| unit.index);
    units.first().map_or(0.0, |unit| unit.score)
}

#[test]
fn a_call_below_others_of_its_name_does_not_cut_a_trace() {
    let trace = |count: u64| {
        let calls = (0..count).map(|n| format!("    at org.build.Executor.execute (Executor.java:{n})\n"));
        unlike(0, 90)
            + "java.io.IOException: the archive is damaged\n    at org.zip.Archive.open (Archive.java:7)\n"
            + &calls.collect::<String>()
            + &unlike(90, 180)
    };
    for (count, last, is_told) in [(3, "Executor.java:2)", true), (60, "Executor.java:20)", false)] {
        let text = trace(count);
        let share = worth_of(&text, last) / worth_of(&text, "Archive.open");
        assert_eq!(share > 0.7, is_told, "{share}");
    }
}

#[test]
fn in_a_chain_of_causes_the_root_counts_most() {
    let calls = |at: &str| -> String {
        ["open", "lock", "write", "flush"]
            .map(|call| format!("\tat org.build.{at}.{call}({at}.java:12)\n"))
            .concat()
    };
    let inner = "java.io.IOException: No space left on device";
    let failed = format!("Failed to execute goal org.tools:plugin:compile on project shop: wrap: {inner}");
    let chain = |failed: &str, wrapped: &str| {
        unlike(0, 90)
            + &format!("[ERROR] {failed} -> [Help 1]\norg.build.LifecycleException: {failed}\n")
            + &calls("Starter")
            + &format!("Caused by: org.build.MojoException: {wrapped}\n{}\t... 9 more\n", calls("Mojo"))
            + &format!("Caused by: {inner}\n{}[ERROR] it is over\n", calls("File"))
    };
    let told = chain(&failed, &format!("wrap: {inner}"));
    let untold = chain(&failed, "the class files of the project cannot be written");
    let root = worth_of(&told, "Caused by: java.io");
    assert!(worth_of(&told, "LifecycleException") < root * 0.5, "{root}");
    assert!(worth_of(&told, "MojoException") < root * 0.5, "{root}");
    assert!(worth_of(&untold, "MojoException") > worth_of(&untold, "Caused by: java.io") * 0.5);
}

#[test]
fn failed_examples_of_rspec_come_before_the_frames_of_the_runner() {
    let calls: String = (0..24)
        .map(|n| {
            format!(
                "     # /var/lib/gems/3.1.0/gems/rspec-core-3.12.0/lib/rspec/core/example.rb:{n}:in `run'\n"
            )
        })
        .collect();
    let failure = |n: u64| {
        format!(
            "  {n}) Cart adds {n}% VAT\n     Failure/Error: expect(total).to eq(10)\n\n       expected: 10\n            got: {n}\n\n     # ./spec/cart_spec.rb:{n}:in `block'\n{calls}\n"
        )
    };
    let again: String = (1..6).map(|n| format!("\u{1b}[31mrspec ./spec/cart_spec.rb[1:{n}]\u{1b}[0m \u{1b}[36m# Cart adds {n}% VAT\u{1b}[0m\n")).collect();
    let text = format!(
        "Failures:\n\n{}Finished in 0.16 seconds\n177 examples, 5 failures\n\nFailed examples:\n\n{again}",
        (1..6).map(failure).collect::<String>()
    );
    let budget = Budget { tokens: 400, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "why did it fail?", budget).text).unwrap();
    for n in 1..6 {
        assert!(shown.contains(&format!("rspec ./spec/cart_spec.rb[1:{n}]")), "{shown}");
    }
}

#[test]
fn frames_by_reflection_count_less_below_a_runner() {
    let trace = |outer: &str| {
        unlike(0, 90)
            + "java.lang.AssertionError: expected:<7> but was:<10>\n\tat com.shop.CartTest.total(CartTest.java:40)\n"
            + "\tat sun.reflect.NativeMethodAccessorImpl.invoke(NativeMethodAccessorImpl.java:62)\n"
            + "\tat java.lang.reflect.Method.invoke(Method.java:498)\n"
            + &format!("\tat {outer}.run(Outer.java:3)\n")
            + &unlike(90, 180)
    };
    for (outer, counts) in [("org.junit.runners.Suite", false), ("com.shop.Plugins", true)] {
        let text = trace(outer);
        let share = worth_of(&text, "NativeMethodAccessorImpl") / worth_of(&text, "CartTest.total");
        assert_eq!(share > 0.7, counts, "{outer}: {share}");
    }
}
