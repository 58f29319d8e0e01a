//! Random items for the derive, each with one mistake at most.

/// A source of numbers that a seed decides.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

/// An item, and whether it has a mistake.
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) is_wrong: bool,
}

/// The parameters of an item.
#[derive(Default)]
struct Generics {
    lifetime: bool,
    /// The names of the type parameters that hold values.
    values: Vec<&'static str>,
    /// The types of a field that mentions every parameter, so that all are used.
    marker: Vec<&'static str>,
    params: Vec<&'static str>,
    clauses: Vec<&'static str>,
}

impl Generics {
    fn random(random: &mut Random, in_list: bool) -> Self {
        let mut own = Self::default();
        if random.chance(40) {
            own.lifetime = true;
            own.params.push("'a");
            own.marker.push("&'a ()");
        }
        if random.chance(30) {
            own.values.push("T");
            own.params.push(random.pick(&[
                "T",
                "T: Clone",
                "T: Clone + 'static",
                "T: Send + Sync",
            ]));
            own.marker.push("T");
            own.clauses
                .extend(random.chance(30).then_some("T: PartialEq"));
            own.clauses
                .extend(random.chance(20).then_some("Vec<T>: Clone"));
        }
        if random.chance(20) {
            own.params.push(random.pick(&[
                "U: ?Sized",
                "U: ?Sized + Debug",
                "U: for<'x> Fn(&'x str) -> &'x str",
                "U: Iterator",
                "U: PartialEq<U>",
                "U: Into<String>",
            ]));
            own.marker.push("*const U");
            own.clauses
                .extend(random.chance(20).then_some("for<'y> &'y U: Debug"));
        }
        if random.chance(15) {
            own.params.push("const N: usize");
            own.marker.push("[(); N]");
            if !in_list && random.chance(30) {
                own.params.pop();
                own.params.push("const N: usize = 3");
            }
        }
        own
    }

    fn params(&self) -> String {
        match self.params.join(", ") {
            none if none.is_empty() => none,
            some => format!("<{some}>"),
        }
    }

    fn clause(&self) -> String {
        match self.clauses.join(", ") {
            none if none.is_empty() => none,
            some => format!(" where {some}"),
        }
    }

    fn marker(&self) -> String {
        if self.marker.is_empty() {
            String::new()
        } else {
            format!(
                "#[accp(skip)] marker: PhantomData<({},)>, ",
                self.marker.join(", ")
            )
        }
    }
}

const NAMES: [&str; 32] = [
    "a",
    "f0",
    "f1",
    "w",
    "r",
    "header",
    "code",
    "key",
    "map",
    "value",
    "extras",
    "name",
    "frame",
    "r#type",
    "r#match",
    "r#async",
    "into_owned",
    "new",
    "default",
    "clone",
    "each",
    "accp",
    "_p",
    "some_long_name",
    "camelCase",
    "FRAME",
    "VARIANTS",
    "agent",
    "mid",
    "inner",
    "variants",
    "error",
];

fn ty(random: &mut Random, of: &Generics, depth: usize) -> String {
    if depth > 0 && random.chance(35) {
        let inner = ty(random, of, depth - 1);
        return match random.below(5) {
            0 => format!("Vec<{inner}>"),
            1 => format!("Box<{inner}>"),
            2 => format!("std::vec::Vec<{inner}>"),
            3 => format!("BTreeMap<String, {inner}>"),
            _ => format!("HashMap<Cow<'static, str>, {inner}>")
                .replace("HashMap<Cow<'static, str>", "HashMap<String"),
        };
    }
    if let Some(name) = of.values.first().filter(|_| random.chance(40)) {
        return (*name).to_owned();
    }
    let borrowed = ["Cow<'a, str>", "Value<'a>", "Map<'a>", "Held<'a>"];
    if of.lifetime && random.chance(40) {
        return random.pick(&borrowed).to_owned();
    }
    let owned = [
        "i64",
        "u8",
        "bool",
        "f64",
        "String",
        "Value<'static>",
        "Map<'static>",
        "Decimal",
        "Cow<'static, str>",
        "Known",
        "Text",
        "Held<'static>",
        "Box<str>",
    ];
    random.pick(&owned).to_owned()
}

fn field_type(random: &mut Random, of: &Generics) -> String {
    let inner = ty(random, of, 2);
    if random.chance(40) {
        format!("Option<{inner}>")
    } else {
        inner
    }
}

/// Returns fields of a struct or variant. With `wrong`, one of them has a mistake.
fn fields(random: &mut Random, of: &Generics, is_frame: bool, wrong: bool) -> String {
    let count = random.below(5) + usize::from(wrong);
    let start = random.below(NAMES.len());
    let at = wrong.then(|| random.below(count));
    let mut out = String::new();
    for index in 0..count {
        let name = NAMES[(start + index * 5) % NAMES.len()];
        let good = field_type(random, of);
        if at == Some(index) {
            out += &match random.below(12) {
                0 => format!("#[accp(renam = \"x\")] {name}: {good}, "),
                1 => format!("#[accp(rename = b\"xx\")] {name}: {good}, "),
                2 => format!("#[accp(skip, flatten)] {name}: Map<'static>, "),
                3 => format!("#[accp(default)] {name}: {good}, "),
                4 => format!("{name}: f32, "),
                5 => format!("{name}: Option<Vec<(i64, i64)>>, "),
                6 => format!("{name}: &'static str, "),
                7 => format!("#[accp(skip = true)] {name}: i64, "),
                8 => format!("#[accp(rename = \"x y\")] {name}: {good}, "),
                9 => format!("#[accp(with)] {name}: {good}, "),
                10 => format!("#[accp(rename = \"x\" skip)] {name}: i64, "),
                _ => format!("#[accp(flatten)] {name}: Vec<i64>, ").replace(
                    if is_frame { "" } else { "Vec<i64>" },
                    if is_frame { "" } else { "Map<'static>" },
                ),
            };
            continue;
        }
        out += &match random.below(12) {
            0 => format!("#[accp(rename = \"renamed{index}\")] {name}: {good}, "),
            1 => format!("#[accp(skip)] {name}: Option<{good}>, "),
            2 => format!("#[doc = \" A \\\"field\\\".\"] {name}: {good}, "),
            _ => format!("{name}: {good}, "),
        };
    }
    if is_frame && !wrong && random.chance(25) {
        let rest = [
            "Map<'static>",
            "BTreeMap<String, Value<'static>>",
            "HashMap<String, i64>",
        ];
        let rest = if of.lifetime && random.chance(50) {
            "Map<'a>"
        } else {
            random.pick(&rest)
        };
        out += &format!("#[accp(flatten)] the_rest: {rest}, ");
    }
    out + &of.marker()
}

/// The attributes of a frame; `wrong` plants a mistake.
fn head(random: &mut Random, operation: &str, wrong: bool) -> String {
    let good = format!("intent = \"req\", operation = \"{operation}\"");
    if wrong {
        return match random.below(12) {
            0 => "intent = \"req\"".to_owned(),
            1 => "operation = \"x\"".to_owned(),
            2 => "intent = \"rqe\", operation = \"x\"".to_owned(),
            3 => "intent = \"req\" operation = \"x\"".to_owned(),
            4 => "intnet = \"req\", operation = \"x\"".to_owned(),
            5 => "intent = b\"req\", operation = \"x\"".to_owned(),
            6 => "intent = \"req\", operation = OPERATION".to_owned(),
            7 => "accp::intent = \"req\", operation = \"x\"".to_owned(),
            8 => "intent = \"req\", operation = \"x y\"".to_owned(),
            9 => format!("{good}, schema = \"task_assignment\""),
            10 => format!("{good}, deny_unknown_fields = true"),
            _ => format!("{good}, operation = \"y\""),
        };
    }
    let mut attributes = good;
    if random.chance(10) {
        attributes += ", rename_all = \"camelCase\"";
    }
    attributes
}

/// Returns a random item with the given name.
pub(crate) fn item(random: &mut Random, name: &str) -> Item {
    let is_wrong = random.chance(42);
    let (generics, in_fields) = (Generics::random(random, false), random.chance(50));
    let (params, clause) = (generics.params(), generics.clause());
    let text = match random.below(6) {
        0..=1 => {
            let wrong_head = is_wrong && !in_fields;
            let new = if random.chance(25) && !is_wrong {
                ", new"
            } else {
                ""
            };
            format!(
                "#[accp({}{new})] struct {name}{params}{clause} {{ {} }}",
                head(random, "x", wrong_head),
                fields(random, &generics, true, is_wrong && in_fields),
            )
        }
        2 => format!(
            "struct {name}{params}{clause} {{ {} }}",
            fields(random, &generics, false, is_wrong)
        ),
        3 => transparent(random, name, is_wrong),
        4 => enumeration(random, name, is_wrong),
        _ => frames(random, name, &generics, is_wrong),
    };
    let text = format!("#[derive(AccpFrame)] {text}");
    Item { text, is_wrong }
}

fn transparent(random: &mut Random, name: &str, is_wrong: bool) -> String {
    if is_wrong {
        return match random.below(6) {
            0 => format!("struct {name}(String);"),
            1 => format!("#[accp(transparent)] struct {name}<'a>(&'a str);"),
            2 => format!("#[accp(transparent)] struct {name}(i64, i64);"),
            3 => format!("#[accp(transparent)] struct {name};"),
            4 => format!("#[accp(transparent, new)] struct {name}(i64);"),
            _ => format!("#[accp(transparant)] struct {name}(i64);"),
        };
    }
    let of = random.pick(&[
        "<T>(T);",
        "<'a>(Cow<'a, str>);",
        "(i64);",
        "<'a, T: Clone>(Option<Cow<'a, str>>, PhantomData<T>);",
    ]);
    if of.contains("PhantomData") {
        return format!("#[accp(transparent)] struct {name}<'a>(Option<Cow<'a, str>>);");
    }
    format!("#[accp(transparent)] struct {name}{of}")
}

fn enumeration(random: &mut Random, name: &str, is_wrong: bool) -> String {
    let mut variants = ["Low", "HTTPError", "r#Self_", "Very_Odd"];
    variants[2] = "Medium";
    let symbol = random.pick(&["", "#[accp(symbol = \"+\")] ", "#[accp(rename = \"own\")] "]);
    let case = random.pick(&[
        "",
        "#[accp(rename_all = \"kebab-case\")] ",
        "#[accp(rename_all = \"UPPERCASE\")] ",
    ]);
    let list = variants.join(", ");
    if !is_wrong {
        return format!("{case}enum {name} {{ {symbol}{list} }}");
    }
    match random.below(8) {
        0 => format!("enum {name} {{ {list}, #[accp(rename = \"low\")] Other }}"),
        1 => format!("enum {name} {{ {list}, #[accp(rename = \"a b\")] Other }}"),
        2 => format!("enum {name} {{ {list}, #[accp(symbol = 7)] Other }}"),
        3 => format!("#[accp(rename_all = \"kebab\")] enum {name} {{ {list} }}"),
        4 => format!("#[accp(intent = \"req\")] enum {name} {{ {list} }}"),
        5 => format!("enum {name} {{ }}"),
        6 => format!("#[accp(new)] enum {name} {{ {list} }}"),
        _ => format!("union {name} {{ a: i64, b: u8 }}"),
    }
}

fn frames(random: &mut Random, name: &str, generics: &Generics, is_wrong: bool) -> String {
    let (params, clause) = (generics.params(), generics.clause());
    let first = format!(
        "#[accp({})] A {{ {} }}",
        head(random, "x", false),
        fields(random, generics, true, false)
    );
    let second = if is_wrong {
        match random.below(8) {
            0 => "#[accp(intent = \"req\", operation = \"x\")] B { n: Option<i64> }".to_owned(),
            1 => "B { n: i64 }".to_owned(),
            2 => "B(i64, i64)".to_owned(),
            3 => "B(String)".to_owned(),
            4 => "B".to_owned(),
            5 => "#[accp(intent = \"req\", operation = 7)] B { n: i64 }".to_owned(),
            6 => "B(FrameX)".to_owned(),
            _ => format!("#[accp({})] B {{ n: i64 }}", head(random, "y", true)),
        }
    } else {
        random
            .pick(&[
                "#[accp(intent = \"req\", operation = \"y\")] B { n: i64 }",
                "B(FrameY)",
                "B(FrameZ<'static>)",
                "B(Box<FrameZ<'static>>)",
                if generics.lifetime {
                    "B(FrameZ<'a>)"
                } else {
                    "B(Box<FrameY>)"
                },
            ])
            .to_owned()
    };
    format!("enum {name}{params}{clause} {{ {first}, {second} }}")
}
