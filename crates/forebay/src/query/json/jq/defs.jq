# What jq has and the library of jaq has not.
def in_csv: if isnumber then tostring elif isboolean then tostring elif . == null then "" elif isstring then "\"" + gsub("\""; "\"\"") + "\"" else error("cannot write an array or object as a field") end;
def @csv: map(in_csv) | join(",");
def in_tsv: if isstring then gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r") elif . == null then "" elif isarray or isobject then error("cannot write an array or object as a field") else tostring end;
def @tsv: map(in_tsv) | join("\t");
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] |= $row);
def INDEX(f): INDEX(.[]; f);
def toarray: if isarray then . else [.] end;
def ascii: [.] | implode;
def leaf_paths: paths(scalars);
def trimstr($s): ltrimstr($s) | rtrimstr($s);
def debug: .;
def debug(msgs): .;
def stderr: .;
