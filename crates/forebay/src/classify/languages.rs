//! Programming languages: their names, typical lines, and the nodes that are items of an outline.

use serde::Serialize;

/// A programming language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "they are names")]
#[non_exhaustive]
pub enum Language {
    Bash,
    C,
    Cpp,
    CSharp,
    Go,
    Java,
    JavaScript,
    Lua,
    Php,
    Python,
    Ruby,
    Rust,
    TypeScript,
    Tsx,
    /// Language known only by the lines of its definitions.
    Other,
}

/// Reason why there is no syntax tree of a text.
pub(crate) enum NoTree {
    NoGrammar,
    /// Parsing took too much work.
    Slow,
}

/// Node that is an item: its kind in the grammar, and the kind of the item.
pub(crate) struct Rule {
    pub(crate) node: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) when: When,
}

/// When a node is an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    /// Only with a body and a name: a use of a struct is not a definition.
    HasBody,
    /// Only if its value is a function or a class.
    HoldsFunction,
    /// Only if it declares a function.
    DeclaresFunction,
}

const fn rule(node: &'static str, kind: &'static str) -> Rule {
    Rule { node, kind, when: When::Always }
}

const fn only(when: When, node: &'static str, kind: &'static str) -> Rule {
    Rule { node, kind, when }
}

impl Language {
    pub(crate) const ALL: [Language; 15] = [
        Language::Bash,
        Language::C,
        Language::Cpp,
        Language::CSharp,
        Language::Go,
        Language::Java,
        Language::JavaScript,
        Language::Lua,
        Language::Php,
        Language::Python,
        Language::Ruby,
        Language::Rust,
        Language::TypeScript,
        Language::Tsx,
        Language::Other,
    ];

    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Language::Bash => "shell",
            Language::C => "C",
            Language::Cpp => "C++",
            Language::CSharp => "C#",
            Language::Go => "Go",
            Language::Java => "Java",
            Language::JavaScript => "JavaScript",
            Language::Lua => "Lua",
            Language::Php => "PHP",
            Language::Python => "Python",
            Language::Ruby => "Ruby",
            Language::Rust => "Rust",
            Language::TypeScript => "TypeScript",
            Language::Tsx => "TSX",
            Language::Other => "source code",
        }
    }

    /// Returns the keyword before the name of an item of this kind, or the kind if the language has none.
    pub(crate) fn keyword(self, kind: &'static str) -> &'static str {
        match (kind, self) {
            ("fn" | "method", Language::Go) => "func",
            ("fn", Language::Rust) => "fn",
            ("fn" | "declaration", _) | ("method", Language::Php) => "function",
            ("macro", Language::Rust) => "macro_rules!",
            ("macro", _) => "#define",
            ("annotation", _) => "@interface",
            _ => kind,
        }
    }

    /// Returns the language of files with this extension.
    pub(crate) fn of_extension(extension: &str) -> Option<Language> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "sh" | "bash" | "zsh" | "ksh" => Language::Bash,
            "c" => Language::C,
            "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "inl" | "ino" | "cu" => Language::Cpp,
            "cs" => Language::CSharp,
            "go" => Language::Go,
            "java" => Language::Java,
            "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
            "lua" => Language::Lua,
            "php" => Language::Php,
            "py" | "pyi" | "pyx" => Language::Python,
            "rb" | "rake" | "gemspec" => Language::Ruby,
            "rs" => Language::Rust,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "tsx" => Language::Tsx,
            "kt" | "kts" | "swift" | "scala" | "dart" | "ex" | "exs" | "jl" | "nim" | "zig" | "groovy" => {
                Language::Other
            }
            _ => return None,
        })
    }

    /// Whether this build contains the grammar.
    #[cfg(feature = "outline")]
    pub(crate) fn has_grammar(self) -> bool {
        self.grammar().is_some()
    }

    /// Returns the grammar, if this build contains it.
    #[cfg(feature = "outline")]
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        match self {
            #[cfg(feature = "lang-bash")]
            Language::Bash => Some(tree_sitter_bash::LANGUAGE.into()),
            #[cfg(feature = "lang-c")]
            Language::C => Some(tree_sitter_c::LANGUAGE.into()),
            #[cfg(feature = "lang-cpp")]
            Language::Cpp => Some(tree_sitter_cpp::LANGUAGE.into()),
            #[cfg(feature = "lang-csharp")]
            Language::CSharp => Some(tree_sitter_c_sharp::LANGUAGE.into()),
            #[cfg(feature = "lang-go")]
            Language::Go => Some(tree_sitter_go::LANGUAGE.into()),
            #[cfg(feature = "lang-java")]
            Language::Java => Some(tree_sitter_java::LANGUAGE.into()),
            #[cfg(feature = "lang-javascript")]
            Language::JavaScript => Some(tree_sitter_javascript::LANGUAGE.into()),
            #[cfg(feature = "lang-lua")]
            Language::Lua => Some(tree_sitter_lua::LANGUAGE.into()),
            #[cfg(feature = "lang-php")]
            Language::Php => Some(tree_sitter_php::LANGUAGE_PHP.into()),
            #[cfg(feature = "lang-python")]
            Language::Python => Some(tree_sitter_python::LANGUAGE.into()),
            #[cfg(feature = "lang-ruby")]
            Language::Ruby => Some(tree_sitter_ruby::LANGUAGE.into()),
            #[cfg(feature = "lang-rust")]
            Language::Rust => Some(tree_sitter_rust::LANGUAGE.into()),
            #[cfg(feature = "lang-typescript")]
            Language::TypeScript => Some(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()),
            #[cfg(feature = "lang-typescript")]
            Language::Tsx => Some(tree_sitter_typescript::LANGUAGE_TSX.into()),
            _ => None,
        }
    }

    /// Returns the nodes that are items.
    pub(crate) fn rules(self) -> &'static [Rule] {
        use When::*;
        match self {
            Language::Bash => const { &[rule("function_definition", "fn")] },
            Language::C => C,
            Language::Cpp => CPP,
            Language::CSharp => {
                const {
                    &[
                        rule("namespace_declaration", "namespace"),
                        rule("class_declaration", "class"),
                        rule("interface_declaration", "interface"),
                        rule("struct_declaration", "struct"),
                        rule("record_declaration", "record"),
                        rule("enum_declaration", "enum"),
                        rule("delegate_declaration", "delegate"),
                        rule("method_declaration", "method"),
                        rule("constructor_declaration", "method"),
                        rule("property_declaration", "property"),
                        rule("local_function_statement", "fn"),
                    ]
                }
            }
            Language::Go => {
                const {
                    &[
                        rule("function_declaration", "fn"),
                        rule("method_declaration", "method"),
                        rule("type_spec", "type"),
                        rule("type_alias", "type"),
                    ]
                }
            }
            Language::Java => {
                const {
                    &[
                        rule("class_declaration", "class"),
                        rule("interface_declaration", "interface"),
                        rule("enum_declaration", "enum"),
                        rule("record_declaration", "record"),
                        rule("annotation_type_declaration", "annotation"),
                        rule("method_declaration", "method"),
                        rule("constructor_declaration", "method"),
                        rule("compact_constructor_declaration", "method"),
                    ]
                }
            }
            Language::JavaScript => {
                const {
                    &[
                        rule("class_declaration", "class"),
                        rule("function_declaration", "fn"),
                        rule("generator_function_declaration", "fn"),
                        rule("method_definition", "method"),
                        only(HoldsFunction, "field_definition", "method"),
                        only(HoldsFunction, "variable_declarator", "fn"),
                        only(HoldsFunction, "assignment_expression", "fn"),
                        only(HoldsFunction, "pair", "fn"),
                    ]
                }
            }
            Language::Lua => {
                const { &[rule("function_declaration", "fn"), only(HoldsFunction, "assignment_statement", "fn")] }
            }
            Language::Php => {
                const {
                    &[
                        only(HasBody, "namespace_definition", "namespace"),
                        rule("class_declaration", "class"),
                        rule("interface_declaration", "interface"),
                        rule("trait_declaration", "trait"),
                        rule("enum_declaration", "enum"),
                        rule("function_definition", "fn"),
                        rule("method_declaration", "method"),
                    ]
                }
            }
            Language::Python => {
                const { &[rule("class_definition", "class"), rule("function_definition", "def")] }
            }
            Language::Ruby => {
                const {
                    &[
                        rule("class", "class"),
                        rule("module", "module"),
                        rule("method", "def"),
                        rule("singleton_method", "def"),
                    ]
                }
            }
            Language::Rust => {
                const {
                    &[
                        rule("function_item", "fn"),
                        rule("function_signature_item", "fn"),
                        rule("struct_item", "struct"),
                        rule("enum_item", "enum"),
                        rule("union_item", "union"),
                        rule("trait_item", "trait"),
                        rule("impl_item", "impl"),
                        only(HasBody, "mod_item", "mod"),
                        rule("macro_definition", "macro"),
                        rule("type_item", "type"),
                        rule("const_item", "const"),
                        rule("static_item", "static"),
                    ]
                }
            }
            Language::TypeScript | Language::Tsx => {
                const {
                    &[
                        rule("class_declaration", "class"),
                        rule("abstract_class_declaration", "class"),
                        rule("interface_declaration", "interface"),
                        rule("type_alias_declaration", "type"),
                        rule("enum_declaration", "enum"),
                        rule("internal_module", "namespace"),
                        rule("module", "module"),
                        rule("function_declaration", "fn"),
                        rule("generator_function_declaration", "fn"),
                        rule("function_signature", "fn"),
                        rule("method_definition", "method"),
                        rule("abstract_method_signature", "method"),
                        only(HoldsFunction, "public_field_definition", "method"),
                        only(HoldsFunction, "variable_declarator", "fn"),
                        only(HoldsFunction, "assignment_expression", "fn"),
                        only(HoldsFunction, "pair", "fn"),
                    ]
                }
            }
            Language::Other => &[],
        }
    }

    /// Returns patterns of lines that hardly any other text has.
    pub(crate) fn cues(self) -> &'static [&'static str] {
        match self {
            Language::Bash => &[
                r"^#!.*\b(?:ba|z|da|k)?sh\b",
                r"^(?:if|elif|while|until) !? ?(?:\[|test |command |grep )",
                r"^(?:fi|done|esac|;;)$",
                r"(?:^|; )(?:then|do)$",
                r"^(?:function )?[\w-]+ ?\(\) ?\{?$",
                r"^(?:export |local |readonly )?[A-Za-z_]+=(?:[^\s=]|$)\S*$",
                r"^set -[euxo]+",
                r"^(?:echo|exit|cd|mkdir|source|rm|cp|exec|return|shift|local) .*\$",
                r"\)$.*;;$",
            ],
            Language::C => &[
                r#"^#\s*include [<"].*\.h[>"]"#,
                r"^#\s*(?:define|ifdef|ifndef|endif|undef)\b",
                r"^(?:static |extern |const )*(?:inline )?(?:int|void|char|struct \w+|unsigned(?: \w+)?|size_t|bool|long|double|float|u?int\d+_t)\b[ *]+\w+.*[({;,=)]",
                r"^typedef\b",
                r"\w->\w+.*[;{,)]$",
                r"^(?:return|goto|break)\b.*;$",
                r"^[A-Za-z_][\w ]*[ *]\w+ ?(?:\(.*[{;,)]|= .*;)$",
                r"^\}?\s*(?:else )?(?:if|for|while|switch) ?\(.*[){;]$",
            ],
            Language::Cpp => &[
                r#"^#\s*include [<"][\w/]+(?:\.h(?:pp|h|xx)?)?[>"]"#,
                r"^#\s*(?:define|ifdef|ifndef|endif|undef|pragma once)\b",
                r"^(?:template ?<|namespace\b.*\{?$|using (?:namespace )?\w+.*;$)",
                r"\bstd::\w+",
                r"^(?:public|private|protected|signals):$",
                r"^(?:class|struct) \w+(?:\s*(?:final)?\s*:.*)?\s*\{?$",
                r"\w::~?\w+\(",
                r"\b(?:const auto|auto) ?&?&? ?\w+ ?[=:]",
                r"\w->\w+.*[;{,)]$",
                r"^(?:static |virtual |explicit |inline |constexpr |const )*(?:int|void|char|bool|double|float|size_t|auto)\b[ *&]+\w+.*[({;,=)]",
                r"^\}?\s*(?:else )?(?:if|for|while|switch) ?\(.*[){;]$",
            ],
            Language::CSharp => &[
                r"^using (?:static )?[A-Z][\w.]*;$",
                r"^namespace [A-Z][\w.]*;?\s*\{?$",
                r"^(?:(?:public|private|internal|protected|static|sealed|partial|async|override|virtual|abstract|readonly) )+(?:class|interface|struct|enum|record|[\w<>\[\],?.]+ \w+\s*(?:\(|\{|=|;|$))",
                r"\{ get;",
                r"^\[\w+(?:\(.*\))?\]$",
                r"\b(?:var|await|new) \w+.*;$",
            ],
            Language::Go => &[
                r"^package \w+$",
                r"^func (?:\([^)]*\) ?)?\w*\(",
                r"^\w+(?:, \w+)* := ",
                r"^import (?:\(|\x22)",
                r"^type \w+ (?:struct|interface|func)\b",
                r"\berr != nil\b",
                r"^(?:if|for|switch|defer|go|var|case|return)\b.*(?:\{|\)|:|\w)$",
            ],
            Language::Java => &[
                r"^package [\w.]+;",
                r"^import (?:static )?[\w.]+(?:\.\*)?;",
                r"^(?:(?:public|private|protected|static|final|abstract|synchronized|default) )+(?:class|interface|enum|record|[\w<>\[\],?.]+ \w+\s*[(;=])",
                r"^@(?:Override|Test|Nullable|Deprecated|SuppressWarnings|Autowired|Inject)\b",
                r"\bthrows \w+",
                r"^(?:return|throw new|this\.)\b.*;$",
                r"\bnew [A-Z]\w*(?:<.*>)?\(",
            ],
            Language::JavaScript => &[
                r"^(?:export )?(?:default )?(?:async )?function\b.*\{",
                r"^(?:export )?(?:const|let|var) [\w{\[$].*(?:=|;$)",
                r"=>\s*[{(\w]",
                r#"\brequire\(['"]"#,
                r#"^(?:import|export)\b.*\bfrom ['"]"#,
                r"^(?:module\.)?exports\b",
                r"===|!==",
                r"\b(?:document|window|console|JSON|Object|Promise)\.\w+",
                r"^\}?\)?;?$.*^\}\);$",
                r"\bthis\.\w+",
                r#"^['"]use strict['"]"#,
            ],
            Language::Lua => &[
                r"^local (?:function )?[\w, ]+(?:=|\(|$)",
                r"^(?:local )?function [\w.:]+\(",
                r"^end[),;]*$",
                r"^(?:if|elseif) .* then$",
                r"^for .* do$",
                r"^--[ \[]",
                r"\.\. ?\x22",
            ],
            Language::Php => &[
                r"^<\?php",
                r"\$\w+ ?(?:=|->|\[|\))",
                r"^namespace [\w\\]+;",
                r"^use [\w\\]+(?: as \w+)?;",
                r"^(?:(?:public|private|protected|static|final|abstract) )*function \w+\(",
            ],
            Language::Python => &[
                r"^(?:async )?def \w+\(",
                r"^class \w+(?:\(.*\))?:",
                r"^from [\w.]+ import\b",
                r"^import [\w.]+(?:, [\w.]+)*(?: as \w+)?$",
                r"^@\w[\w.]*(?:\(.*)?$",
                r"^(?:if|for|while|with|elif|except)\b.*:$",
                r"^(?:else|try|finally):$",
                r"\bself\.\w+",
                r#"^[ru]?""""#,
                r"^(?:return|raise|yield|assert|del|global)\b[^;]*$",
                r"^if __name__ ==",
                r"^>>> ",
            ],
            Language::Ruby => &[
                r"^(?:class|module) [A-Z][\w:]*(?: < .*)?$",
                r"^def [\w.?!=]+(?:\(.*\)| .*)?$",
                r"^end(?:\.\w+.*)?$",
                r#"^require(?:_relative)? ['"]"#,
                r"\bdo(?: \|.*\|)?$",
                r"^(?:attr_\w+|include|extend|private|protected|has_many|belongs_to|validates)\b",
                r"^(?:if|unless|elsif|when|rescue|case) [^{]*$",
                // Not part of an address, a version or a path.
                r"(?:^|[\s(\[{,!&|])@@?[a-z_]\w*(?:[^\w/@]|$)",
            ],
            Language::Rust => &[
                r"^(?:pub(?:\([a-z:]+\))? )?(?:async |unsafe |const )*(?:fn|struct|enum|trait|mod|union) \w+",
                r"^(?:unsafe )?impl\b.*\{?$",
                r"^(?:pub(?:\([a-z:]+\))? )?use [\w:]+.*[;{]$",
                r"^#!?\[",
                r"^let (?:mut )?[\w(&].*[=;]",
                r"-> (?:Result|Option|Self|impl|Box|Vec|String|bool|&|u\d|\()",
                r"\b\w+!\(|::<",
                r"&(?:mut |'\w+ )?(?:self|str)\b",
                r"^(?:match|if let|while let) .*\{$",
                r"^[\w:&(){}, ._]+ => ",
            ],
            Language::TypeScript => TYPESCRIPT,
            Language::Tsx => TYPESCRIPT,
            Language::Other => &[
                r"^(?:(?:override|private|internal|suspend|inline|open|abstract|public|static|mutating) )*(?:fun|func) [\w<]",
                r"^(?:(?:data|sealed|open|abstract|case|public|private|final) )*(?:class|object|protocol|extension|interface|trait) \w+",
                r"^(?:(?:private|override|lateinit|public|lazy|static) )*(?:val|var|let) \w+.*[:=]",
                r"^import [\w.]+(?:\.\{.*\}|\._|\.\*)?$",
                r"^package [\w.]+$",
                r"^(?:guard|if|for|while|when|switch|else|return)\b[^;]*$",
            ],
        }
    }
}

const C: &[Rule] = &[
    rule("function_definition", "fn"),
    only(When::HasBody, "struct_specifier", "struct"),
    only(When::HasBody, "union_specifier", "union"),
    only(When::HasBody, "enum_specifier", "enum"),
    only(When::DeclaresFunction, "declaration", "declaration"),
    rule("preproc_function_def", "macro"),
    rule("type_definition", "typedef"),
];

const CPP: &[Rule] = &[
    rule("function_definition", "fn"),
    rule("namespace_definition", "namespace"),
    only(When::HasBody, "class_specifier", "class"),
    only(When::HasBody, "struct_specifier", "struct"),
    only(When::HasBody, "union_specifier", "union"),
    only(When::HasBody, "enum_specifier", "enum"),
    only(When::DeclaresFunction, "declaration", "declaration"),
    only(When::DeclaresFunction, "field_declaration", "declaration"),
    rule("alias_declaration", "type"),
    rule("concept_definition", "concept"),
    rule("preproc_function_def", "macro"),
    rule("type_definition", "typedef"),
];

const TYPESCRIPT: &[&str] = &[
    r"^(?:export )?(?:declare )?(?:interface|type|enum|namespace|abstract class) \w+",
    r"\w\??: (?:string|number|boolean|void|unknown|any|Promise|Array|Record)\b",
    r"^import type\b",
    r"^(?:public|private|protected|readonly)(?: (?:async|readonly|static|get|set))* \w+.*[({:;=]",
    r"\bas (?:const|any|unknown|string)\b",
    r"^(?:export )?(?:default )?(?:async )?function\b.*[{(]",
    r"^(?:export )?(?:const|let) [\w{\[$].*(?:=|;$)",
    r"=>\s*[{(\w]",
    r#"^(?:import|export)\b.*\bfrom ['"]"#,
    r"===|!==",
    r"\bthis\.\w+",
];
