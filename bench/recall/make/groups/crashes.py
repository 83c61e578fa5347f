"""Debuggers, sanitizers, dumps of threads, traces of system calls."""
import projects
from corpus import block, files, line

G = 'crashes'

TREE = '''#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { int key; char *label; struct node *left, *right; };

static struct node *insert(struct node *at, int key)
{
    if (!at) {
        at = calloc(1, sizeof *at);
        at->key = key;
        at->label = malloc(8);
        snprintf(at->label, 8, "n%d", key);
        printf("insert %d: 0 errors\\n", key);
        return at;
    }
    if (key < at->key) at->left = insert(at->left, key);
    else at->right = insert(at->right, key);
    return at;
}

static int depth(struct node *at) { return at ? 1 + (depth(at->left) > depth(at->right) ? depth(at->left) : depth(at->right)) : 0; }
WORK
int main(void)
{
    struct node *root = 0;
    for (int n = 0; n < COUNT; n++) root = insert(root, n * 7919 % 1009);
    printf("depth %d\\n", depth(root));
    work(root);
    for (int n = 0; n < 60; n++) printf("after %d: ok\\n", n);
    return 0;
}
'''


def make(c):
    def tree(name, work, n=400): return files(f'/srv/app/{name}', {'tree.c': TREE.replace('WORK', work).replace('COUNT', str(n))})
    free = 'static void prune(struct node *at) { free(at->label); free(at); }\nstatic void work(struct node *root)\n{\n    struct node *old = root->right;\n    prune(old);\n    printf("pruned %d\\n", old->key);\n}'
    c.run(G, 'asan-use-after-free', './app', tree('asan', free), 'What does the address sanitizer report, and where in our code?', [line(r'ERROR: AddressSanitizer: heap-use-after-free'), line(r'#\d .* in work .*tree.c', 1)], view=True, setup='gcc -g -fsanitize=address -o app tree.c')
    c.run(G, 'valgrind-leak', 'valgrind --leak-check=full --show-leak-kinds=all --track-origins=yes ./app', tree('leak', 'static void work(struct node *root)\n{\n    int count;\n    char *copy = malloc(4);\n    strcpy(copy, root->label);\n    strcat(copy, "-old");\n    if (count > 3) printf("many\\n");\n    printf("%s\\n", copy);\n}', 150), 'Where is the invalid write?', [line(r'Invalid write of size', after=2)], view=True, setup='gcc -g -O0 -o app tree.c', timeout=300)
    c.run(G, 'ubsan', './app', tree('ubsan', 'static void work(struct node *root)\n{\n    int total = 2147483000;\n    for (struct node *at = root; at; at = at->right) total += at->key;\n    printf("total %d\\n", total);\n}'), 'Is there undefined behaviour?', [line(r'runtime error: signed integer overflow')], view=True, setup='gcc -g -fsanitize=undefined -o app tree.c')
    deep = 'static int sum(struct node *at, int level)\n{\n    if (level > 120) { volatile int *bad = (int *)(long)(at->key - at->key); return *bad; }\n    return at->key + sum(at, level + 1);\n}\nstatic void work(struct node *root) { printf("%d\\n", sum(root, 0)); }'
    c.run(G, 'gdb-backtrace', "gdb -q -batch -ex run -ex bt -ex 'info registers' -ex 'thread apply all bt full' ./app", tree('gdb', deep, 120), 'Where did the program get the SIGSEGV?', [line(r'received signal SIGSEGV'), line(r'^0x[0-9a-f]+ in sum|^sum \(at=', 1)], view=True, setup='gcc -g -O0 -o app tree.c', edit=None)
    race = '#include <pthread.h>\n#include <stdio.h>\n\nlong hits;\nlong safe;\npthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\nstatic void *count(void *name)\n{\n    for (int n = 0; n < 300; n++) {\n        hits++;\n        pthread_mutex_lock(&lock);\n        safe++;\n        printf("%s %d\\n", (char *)name, n);\n        pthread_mutex_unlock(&lock);\n    }\n    return 0;\n}\n\nint main(void)\n{\n    pthread_t a, b;\n    pthread_create(&a, 0, count, "first");\n    pthread_create(&b, 0, count, "second");\n    pthread_join(a, 0);\n    pthread_join(b, 0);\n    printf("%ld %ld\\n", hits, safe);\n    return 0;\n}\n'
    c.run(G, 'tsan-race', 'setarch -R ./app', files('/srv/app/race', {'race.c': race}), 'Which variable is raced on, and in which function?', [line(r"Location is global .hits."), line(r'SUMMARY: ThreadSanitizer: data race')], view=True, setup='gcc -g -fsanitize=thread -o app race.c', shown='./app')

    stuck = '''
import faulthandler, sys, threading, time

faulthandler.dump_traceback_later(1.0, exit=True)
stock, ledger = threading.Lock(), threading.Lock()


def poll(number, left=12):
    if left:
        return poll(number, left - 1)
    time.sleep(60)


def book():
    with stock:
        time.sleep(0.2)
        with ledger:
            pass


def refund():
    with ledger:
        time.sleep(0.2)
        with stock:
            pass


for number in range(24):
    threading.Thread(target=poll, args=(number,), name=f"poll-{number}", daemon=True).start()
threading.Thread(target=book, name="book", daemon=True).start()
threading.Thread(target=refund, name="refund", daemon=True).start()
time.sleep(30)
'''
    c.run(G, 'faulthandler-deadlock', 'python3 stuck.py', files('/srv/app/stuck', {'stuck.py': stuck}), 'In which two functions do threads wait for a lock?', [line(r'line \d+ in book$'), line(r'line \d+ in refund$')])
    c.run(G, 'py-spy-dump', 'python3 stuck.py >/dev/null 2>&1 & sleep 0.8; py-spy dump --pid $! ; kill $!', files('/srv/app/stuck2', {'stuck.py': stuck.replace('later(1.0', 'later(20.0')}), 'Where does the thread "refund" wait?', [line(r'Thread .*"refund"', after=1)], shown='py-spy dump --pid 4711')
    java = '''import java.util.concurrent.locks.*;

public class Stuck {
    static final Object STOCK = new Object(), LEDGER = new Object();

    static void idle(int depth) throws Exception {
        if (depth > 0) { idle(depth - 1); return; }
        Thread.sleep(60000);
    }

    public static void main(String[] args) throws Exception {
        for (int n = 0; n < 30; n++) {
            Thread t = new Thread(() -> { try { idle(12); } catch (Exception e) { } }, "poll-" + n);
            t.setDaemon(true);
            t.start();
        }
        Thread book = new Thread(() -> { synchronized (STOCK) { pause(); synchronized (LEDGER) { System.out.println("booked"); } } }, "book");
        Thread refund = new Thread(() -> { synchronized (LEDGER) { pause(); synchronized (STOCK) { System.out.println("refunded"); } } }, "refund");
        book.start();
        refund.start();
    }

    static void pause() {
        try { Thread.sleep(300); } catch (InterruptedException e) { }
    }
}
'''
    c.run(G, 'jstack-deadlock', 'java -cp . Stuck & sleep 2; jstack -l $!; kill -9 $!', files('/srv/app/jstack', {'Stuck.java': java}), 'Is there a deadlock, and between which threads?', [line(r'Found one Java-level deadlock'), line(r'^"book":', 1), line(r'^"refund":', 1), line(r'which is held by "', 'all')], view=True, setup='javac Stuck.java', shown='jstack -l 4711')
    go = '''package main

import (
	"fmt"
	"sync"
	"time"
)

type depot struct {
	mu    sync.Mutex
	stock map[string]int
}

func (d *depot) take(name string, left int) int {
	if left == 0 {
		return d.stock[name] / (len(d.stock) - 40)
	}
	return d.take(name, left-1)
}

func idle(n int) {
	time.Sleep(time.Hour)
}

func main() {
	d := &depot{stock: map[string]int{}}
	for n := 0; n < 40; n++ {
		go idle(n)
		d.stock[fmt.Sprint("item-", n)] = n
		fmt.Printf("stored item-%d, 0 errors\\n", n)
	}
	time.Sleep(10 * time.Millisecond)
	fmt.Println(d.take("item-3", 20))
}
'''
    c.run(G, 'go-panic-goroutines', 'GOTRACEBACK=all ./app', files('/srv/app/gopanic', {'main.go': go, 'go.mod': 'module example.com/depot\n\ngo 1.19\n'}), 'Why did the program panic, and where?', [line(r'panic: runtime error: integer divide by zero'), line(r'/srv/app/gopanic/main.go:16', 1)], view=True, setup='go build -o app .')
    deadlock = go.replace('time.Sleep(time.Hour)', 'waitFor(n)').replace('func main()', 'var ready = make(chan int)\n\nfunc waitFor(n int) {\n\tready <- n\n}\n\nfunc main()').replace('fmt.Println(d.take("item-3", 20))', 'd.mu.Lock()\n\td.mu.Lock()')
    c.run(G, 'go-deadlock', 'GOTRACEBACK=all ./app', files('/srv/app/godead', {'main.go': deadlock, 'go.mod': 'module example.com/depot\n\ngo 1.19\n'}), 'What is the fatal error, and where does the main goroutine wait?', [line(r'^fatal error: all goroutines are asleep'), line(r'^main.main\(\)', after=1)], view=True, setup='go build -o app .')
    c.run(G, 'rust-panic-backtrace', 'RUST_BACKTRACE=full ./app', files('/srv/app/rustpanic', {'main.rs': 'use std::collections::BTreeMap;\n\nfn walk(tree: &BTreeMap<u32, Vec<u32>>, at: u32, depth: u32) -> u32 {\n    if depth == 40 {\n        return *tree[&at].iter().max().unwrap();\n    }\n    walk(tree, at + 1, depth + 1)\n}\n\nfn main() {\n    let mut tree = BTreeMap::new();\n    for n in 0..200u32 {\n        tree.insert(n, if n == 40 { vec![] } else { vec![n] });\n        println!("node {n}: ok, 0 errors");\n    }\n    println!("{}", walk(&tree, 0, 0));\n}\n'}), 'What panicked, and on which line of main.rs?', [line(r'panicked at main.rs:5'), line(r'called .Option::unwrap\(\). on a .None. value')], view=True, setup='rustc -g -o app main.rs')
    c.run(G, 'node-stack-in-bundle', 'node --stack-trace-limit=40 app.js', files('/srv/app/nodestack', {'app.js': ''.join(f'function layer{n}(x) {{ return layer{n + 1}(x); }}\n' for n in range(30)) + "function layer30(x) { return JSON.parse(x.payload); }\nfor (let n = 0; n < 300; n++) console.log(`message ${n} read, errors: 0`);\nlayer0({ payload: '{\"id\": 7, \"city\": Lisbon}' });\n"}), 'Which input could not be parsed?', [line(r'SyntaxError: Unexpected token'), line(r'at layer30 \(/srv/app/nodestack/app.js:31')], view=True)
    c.run(G, 'python-recursion', 'python3 -u app.py', files('/srv/app/pyrec', {'app.py': 'import json\n\nPARENTS = {n: n - 1 for n in range(1, 400)}\nPARENTS[0] = 7\n\n\ndef root(n):\n    parent = PARENTS.get(n)\n    if parent is None:\n        return n\n    return root(parent)\n\n\nfor n in range(350):\n    print(json.dumps({"n": n, "parent": PARENTS[n], "errors": 0}))\ntry:\n    print(root(5))\nexcept RecursionError as error:\n    raise SystemExit(f"no root for 5: {PARENTS[0]=}") from error\nfinally:\n    for n in range(200):\n        print("closing", n)\n'}), 'Why was no root found?', [line(r'no root for 5: PARENTS\[0\]=7')], view=True)
    c.run(G, 'python-chained', 'python3 -X dev app.py', files('/srv/app/pychain', {'app.py': 'import logging\nimport sqlite3\n\nlogging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")\n\n\nclass StoreError(Exception):\n    pass\n\n\ndef save(db, row):\n    try:\n        db.execute("insert into tariffs values (?, ?)", row)\n    except sqlite3.Error as error:\n        raise StoreError(f"row {row[0]} not saved") from error\n\n\ndef load(rows):\n    db = sqlite3.connect(":memory:")\n    db.execute("create table tariffs (id integer primary key, rate real not null)")\n    for row in rows:\n        try:\n            save(db, row)\n            logging.info("saved row %d", row[0])\n        except StoreError:\n            logging.exception("skipped a row")\n\n\nload([(n, None if n == 260 else n / 7) for n in range(700)])\n'}), 'Which row was skipped, and what did the database say?', [line(r'sqlite3.IntegrityError: NOT NULL constraint failed: tariffs.rate'), line(r'StoreError: row 260 not saved')], view=True)
    c.run(G, 'strace-enoent', 'strace -f -s 80 python3 -S app.py', files('/srv/app/strace', {'app.py': 'import os\n\nfor n in range(150):\n    os.stat(".")\ntry:\n    open("/srv/app/strace/conf.d/limits.ini")\nexcept OSError:\n    os.environ["LIMITS"] = "none"\nfor n in range(150):\n    os.getppid()\n'}), 'Which configuration file could not be opened?', [line(r'conf.d/limits.ini.*ENOENT')])
    c.run(G, 'strace-eacces', 'strace -f -e trace=file,network,process sh run.sh', files('/srv/app/strace2', {'run.sh': 'for n in 1 2 3 4 5 6 7 8; do ls /usr/share/doc/bash > /dev/null; done\nsetpriv --reuid=65534 --regid=65534 --clear-groups cat /srv/app/strace2/key.txt\nfor n in 1 2 3 4 5; do cat run.sh > /dev/null; done\n', 'key.txt': 'x\n'}), 'Which file was not readable, and for which reason?', [line(r'key.txt.*EACCES')], setup='chmod 600 key.txt')
