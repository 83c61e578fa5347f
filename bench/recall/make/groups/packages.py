"""Package managers: why did the installation fail, and what is installed?"""
import projects
from corpus import block, files, line, part

G = 'packages'


def wheel_sources(count):
    """Source trees of small packages that depend on each other; `setup.sh` builds wheels of them into `index`."""
    out = {}
    for i, noun in enumerate(projects.NOUNS[:count]):
        needs = [f'"acme-{projects.NOUNS[j]}>=1.0"' for j in range(i + 1, min(i + 3, count))]
        out[noun] = needs
    return out


MAKE_WHEELS = '''
import base64, hashlib, os, sys, zipfile


def wheel(folder, name, version, needs, requires_python=None):
    """Writes an empty wheel by hand, so that no build tool is needed."""
    plain = name.replace("-", "_")
    path = os.path.join(folder, f"{plain}-{version}-py3-none-any.whl")
    meta = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n" + "".join(f"Requires-Dist: {n}\\n" for n in needs) + (f"Requires-Python: {requires_python}\\n" if requires_python else "")
    info = f"{plain}-{version}.dist-info"
    parts = {f"{plain}.py": f"VERSION = {version!r}\\n", f"{info}/METADATA": meta, f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}
    record = "".join(f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).rstrip(b'=').decode()},{len(t)}\\n" for n, t in parts.items()) + f"{info}/RECORD,,\\n"
    with zipfile.ZipFile(path, "w") as archive:
        for n, t in parts.items():
            archive.writestr(n, t)
        archive.writestr(f"{info}/RECORD", record)


exec(open("wheels.txt").read())
'''


def make(c):
    nouns = projects.NOUNS
    chain = 'os.makedirs("index", exist_ok=True)\n' + ''.join(f'for v in range(1, 8): wheel("index", "acme-{a}", f"1.{{v}}", ["acme-{b}>=1.0", "acme-{d}<2"])\n' for a, b, d in zip(nouns, nouns[1:] + nouns[:1], nouns[2:] + nouns[:2]))
    wheels = {'make_wheels.py': MAKE_WHEELS, 'wheels.txt': chain}
    conflict = wheels | {'wheels.txt': chain + 'wheel("index", "acme-report", "3.0", ["acme-ledger<1.4", "acme-portal"])\nwheel("index", "acme-portal", "2.2", ["acme-ledger>=1.5"])\n', 'requirements.txt': ''.join(f'acme-{noun}\n' for noun in nouns) + 'acme-report==3.0\n'}
    venv = 'rm -rf env && /usr/bin/python3 -m venv env && python3 make_wheels.py'
    p = files('/srv/app/pip1', conflict)
    c.run(G, 'pip-conflict', 'env/bin/pip install -v --no-cache-dir --no-index --find-links index -r requirements.txt', p, 'Which two requirements conflict?', [block(r'^The conflict is caused by:', r'acme-portal 2.2 depends on')], view=True, setup=venv)
    p = files('/srv/app/pip2', wheels | {'requirements.txt': ''.join(f'acme-{noun}\n' for noun in nouns[:24]) + './native\n', 'native/setup.py': 'import os\nfrom setuptools import Extension, setup\n\nsetup(name="acme-native", version="0.4", ext_modules=[Extension("acme_native", ["fast.c"])])\n', 'native/fast.c': '#include <Python.h>\n#include <barcode/encode.h>\n\nint x;\n' + ''.join(f'static int unused_{n}(void) {{ return {n}; }}\n' for n in range(60))})
    c.run(G, 'pip-build-fails', 'env/bin/pip install -v --no-index --no-build-isolation --find-links index -r requirements.txt', p, 'Why could acme-native not be built?', [line(r'fatal error: barcode/encode.h: No such file|fatal error: Python.h: No such file')], view=True, setup=venv)
    p = files('/srv/app/pip3', wheels | {'wheels.txt': chain + 'wheel("index", "acme-clock", "5.1", [], ">=3.13")\n', 'requirements.txt': ''.join(f'acme-{noun}\n' for noun in nouns) + 'acme-clock>=5\n'})
    c.run(G, 'pip-python-version', 'env/bin/pip install -vv --no-index --find-links index -r requirements.txt', p, 'Why can acme-clock not be installed?', [line(r"Package 'acme-clock' requires a different Python", 1)], view=True, setup=venv)
    p = files('/srv/app/pip4', wheels | {'wheels.txt': chain + 'wheel("index", "acme-ui", "2.0", ["acme-parcel>=9", "acme-theme"])\n'})
    c.run(G, 'pip-check', 'env/bin/pip install -v --no-index --find-links index ' + ' '.join(f'acme-{noun}' for noun in nouns) + ' && env/bin/pip check', p, 'Which installed package has unmet requirements?', [line(r'^acme-ui 2.0 (requires|has requirement)', 'all')], view=True,
          setup=venv + ' && env/bin/pip install -q --no-deps --no-index --find-links index acme-ui')

    def package(name, version='1.0.0', **more):
        import json
        return json.dumps({'name': name, 'version': version, **more}, indent=2) + '\n'
    deps = {f'packages/{noun}/package.json': package(f'@acme/{noun}', dependencies={f'@acme/{nouns[(i + 1) % 30]}': '^1.0.0'} if i < 29 else {}) for i, noun in enumerate(nouns)}
    p = files('/srv/app/npm1', deps | {'packages/theme/package.json': package('@acme/theme', '4.0.0', peerDependencies={'@acme/parcel': '^2.0.0'}), 'package.json': package('shop', dependencies={f'@acme/{noun}': f'file:packages/{noun}' for noun in nouns} | {'@acme/theme': 'file:packages/theme'})})
    c.run(G, 'npm-eresolve', 'npm install --offline --loglevel=silly --no-audit --no-fund', p, 'Which peer dependency cannot be resolved?', [line(r'peer @acme/parcel@"\^2.0.0" from @acme/theme@4.0.0')], view=True)
    p = files('/srv/app/npm2', {'package.json': package('site', scripts={'build': 'node build.js', 'prebuild': 'node steps.js'}), 'steps.js': "for (let i = 0; i < 400; i++) console.log(`[assets] ${i}/400 copied img/${(i * 7919 % 9973).toString(16)}.webp (${i % 90 + 3} kB)`);\nconsole.warn('(node) warning: experimental loader, 0 errors');\n", 'build.js': "const fs = require('fs');\nconst pages = ['index', 'about', 'terms', 'press'];\nfor (const page of pages) {\n  const text = fs.readFileSync(`content/${page}.md`, 'utf8');\n  console.log(page, text.length);\n}\n", 'content/index.md': '# Home\n', 'content/about.md': '# About\n', 'content/press.md': '# Press\n'})
    c.run(G, 'npm-run-script', 'npm run build', p, 'Why does the build script fail?', [line(r"Error: ENOENT: no such file or directory, open 'content/terms.md'"), line(r'at Object.<anonymous> \(/srv/app/npm2/build.js:4')], view=True)
    p = files('/srv/app/npm3', {'package.json': package('lock', dependencies={f'{noun}-{field}-acme': '^1.2.0' for noun in nouns for field in projects.FIELDS[:3]})})
    c.run(G, 'npm-cache-miss', 'npm install --offline --loglevel=silly', p, 'Which request failed because nothing is cached?', [line(r'ENOTCACHED', 1), line(r'cache mode is .only-if-cached. but no cached response', 1)], view=True, env={'npm_config_cache': '/tmp/build/empty-npm'})
    c.run(G, 'npm-ls-invalid', 'npm ls --all --long', files('/srv/app/npm4', {'package.json': package('tree', dependencies={f'@acme/{noun}': '^1.0.0' for noun in nouns} | {'@acme/gate': '^3.0.0'})} | {f'node_modules/@acme/{noun}/package.json': package(f'@acme/{noun}', f'1.{i}.0', description=f'Rules of one {noun}, of its parts and of what belongs to it', dependencies={f'@acme/{nouns[(i + k) % 30]}': '^1.0.0' for k in (1, 2, 3, 5, 8)}) for i, noun in enumerate(nouns)} | {'node_modules/@acme/gate/package.json': package('@acme/gate', '2.4.1', description='Gates')}),
          'Which package has an invalid version?', [line(r'npm (error|ERR!) invalid: @acme/gate@2.4.1')], view=True)

    c.run(G, 'apt-unmet', "apt-get install -s -o Debug::pkgProblemResolver=1 -o Debug::pkgDepCache::Marker=1 -o Debug::pkgDepCache::AutoInstall=1 ./acme.deb", files('/srv/app/apt1', {'deb/DEBIAN/control': 'Package: acme-station\nVersion: 2.1\nArchitecture: amd64\nMaintainer: Ada Moreno <ada@example.com>\nDepends: libc6, nginx (>= 9.0), acme-firmware, python3, redis-server, inkscape, mariadb-server, cups\nDescription: station\n'}),
          'Which dependencies of acme-station are not met?', [line(r'acme-station : Depends: nginx \(>= 9.0\)'), line(r'Depends: acme-firmware but it is not installable')], setup='dpkg-deb -b deb acme.deb >/dev/null', view=True)
    c.run(G, 'apt-simulate', 'apt-get install -s --no-install-recommends gnome-calculator exim4-base mariadb-server cups inkscape', '/srv/app', 'How many packages would be removed, and how many newly installed?', [line(r'^\d+ (upgraded|newly)')])
    c.run(G, 'dpkg-list', "dpkg -l 'lib*' 'r*'", '/srv/app', 'Which version of ripgrep is installed?', [line(r'^ii  ripgrep ')])
    c.run(G, 'apt-cache-depends', 'apt-cache depends --recurse --no-recommends --no-suggests nginx-light', '/srv/app', 'What does libssl3 depend on?', [block(r'^libssl3$', r'Depends: (libc6|debconf)')], edit=lambda data: data[:400000])

    cargo = {'Cargo.toml': '[workspace]\nresolver = "2"\nmembers = [' + ', '.join(f'"crates/{noun}"' for noun in nouns[:20]) + ', "crates/app"]\n'}
    for i, noun in enumerate(nouns[:20]):
        cargo[f'crates/{noun}/Cargo.toml'] = f'[package]\nname = "acme-{noun}"\nversion = "0.{i}.0"\nedition = "2021"\n\n[features]\nfast = []\n\n[dependencies]\n' + (f'acme-{nouns[i + 1]} = {{ path = "../{nouns[i + 1]}" }}\n' if i < 19 else '') + (f'acme-{nouns[i + 2]} = {{ path = "../{nouns[i + 2]}" }}\n' if i < 18 else '')
        cargo[f'crates/{noun}/src/lib.rs'] = f'//! {noun}\n/// Number.\npub const NUMBER: u32 = {i};\nfn never_used() {{}}\n'
    cargo['crates/app/Cargo.toml'] = '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nacme-invoice = { path = "../invoice", features = ["fast"] }\nacme-ledger = { path = "../ledger", version = "0.9" }\n'
    cargo['crates/app/src/main.rs'] = 'fn main() {}\n'
    c.run(G, 'cargo-version', 'cargo build --offline -vv; for crate in crates/*; do (cd $crate && cargo build --offline -v 2>&1 | sed "s/^/[$(basename $PWD)] /"); done', files('/srv/app/cargo1', cargo), 'Why can the crates not be resolved?', [line(r'error: failed to select a version for the requirement', 1), line(r'candidate versions found which didn', 1)], view=True)
    cargo['crates/app/Cargo.toml'] = cargo['crates/app/Cargo.toml'].replace('version = "0.9"', 'version = "0.2"')
    c.run(G, 'cargo-tree', 'cargo tree --offline --no-dedupe --depth 13 -p app', files('/srv/app/cargo2', cargo), 'Which version of acme-shipment is in the tree?', [part(r'acme-shipment v[\d.]+')])
    c.run(G, 'cargo-build-script', 'cargo build --offline -vv', files('/srv/app/cargo3', cargo | {'crates/depot/build.rs': 'fn main() {\n    println!("cargo:warning=using the default tables");\n    for n in 0..40 {\n        println!("cargo:rustc-env=TABLE_{n}=built");\n    }\n    let rows = std::env::var("DEPOT_ROWS").expect("DEPOT_ROWS must be set");\n    println!("cargo:rustc-env=ROWS={rows}");\n}\n'}), 'Why did the build script of acme-depot fail?', [line(r'DEPOT_ROWS must be set: NotPresent')], view=True)
    go = projects.go(51, packages=24, functions=3)
    for name in [n for n in go if n.endswith('.go') and '_test' not in n]:
        package = name.split('/')[0]
        go[name] = go[name].replace(f'package {package}\n', f'package {package}\n\nimport _ "example.com/{package}kit/v2/codec"\n', 1)
    go['go.mod'] += '\nrequire (\n' + ''.join(f'\texample.com/{noun}kit/v2 v2.{i}.0\n' for i, noun in enumerate(projects.NOUNS)) + ')\n\nreplace example.com/claimkit/v2 => ../claimkit\n'
    c.run(G, 'go-mod', 'go build ./... ; go mod tidy -v ; go list -m all', files('/srv/app/gomod', go), 'Which replacement folder does not exist?', [line(r'replacement directory ../claimkit does not exist', 1)], view=True)
    c.run(G, 'maven-offline', 'mvn -B -o -X package', files('/srv/app/mvn', {'pom.xml': '<project xmlns="http://maven.apache.org/POM/4.0.0">\n  <modelVersion>4.0.0</modelVersion>\n  <groupId>com.example</groupId>\n  <artifactId>timetable</artifactId>\n  <version>1.2</version>\n  <dependencies>\n    <dependency>\n      <groupId>com.example</groupId>\n      <artifactId>calendar</artifactId>\n      <version>4.1</version>\n    </dependency>\n  </dependencies>\n</project>\n', 'src/main/java/App.java': 'class App {}\n'}), 'Why does the Maven build fail?', [line(r'^\[ERROR\] (Failed to execute goal|Plugin org.apache)', 1)], view=True)
    gems = {f'gems/acme-{noun}/acme-{noun}.gemspec': f"Gem::Specification.new do |s|\n  s.name = 'acme-{noun}'\n  s.version = '1.{i}.0'\n  s.summary = '{noun}'\n  s.authors = ['Ada Moreno']\n  s.files = []\n" + (f"  s.add_dependency 'acme-{nouns[i + 1]}', '~> 1.0'\n" if i < 24 else "  s.add_dependency 'acme-absent', '>= 3'\n") + 'end\n' for i, noun in enumerate(nouns[:25])}
    c.run(G, 'gem-dependency', 'for g in gems/*/*.gemspec; do (cd $(dirname $g) && gem build $(basename $g)); done; gem install -V --local --force --install-dir out gems/*/*.gem; GEM_PATH=out gem dependency --local; GEM_HOME=out GEM_PATH=out ruby -e "gem \'acme-invoice\'"', files('/srv/app/gems', gems), 'Which gem is missing?', [line(r'acme-absent', -1)], view=True)
