//! Invented tasks, from which cases are made.

/// Something that a user has told: what it is, and its value.
pub(super) type Told = (&'static str, &'static str);

/// A choice: its purpose, what was chosen, what was not chosen, and the reason.
pub(super) type Choice = (&'static str, &'static str, &'static str, &'static str);

/// A task.
pub(super) struct Scenario {
    pub(super) intent: &'static str,
    /// The file that the intent asks for.
    pub(super) file: &'static str,
    pub(super) told: [Told; 3],
    /// Things that nobody has told.
    pub(super) untold: [&'static str; 2],
    pub(super) choices: [Choice; 2],
    pub(super) constraints: [&'static str; 4],
    /// Things to do that serve the task.
    pub(super) steps: [&'static str; 3],
    /// A question for a search, that serves the task.
    pub(super) query: &'static str,
}

pub(super) const SCENARIOS: [Scenario; 8] = [
    Scenario {
        intent: "Write the spring price list of our bakery as prices/spring.md, with rye, spelt and oat bread.",
        file: "prices/spring.md",
        told: [
            ("delivery address", "14 Mill Lane"),
            ("opening hour", "6:30"),
            ("price of rye bread", "4.20 euros"),
        ],
        untold: ["phone number of the miller", "name of the new apprentice"],
        choices: [
            ("layout", "two columns", "one column", "it fits on a page"),
            (
                "currency sign",
                "EUR",
                "the euro symbol",
                "the printer lacks the symbol",
            ),
        ],
        constraints: [
            "Never mention the old supplier.",
            "The list must fit on one page.",
            "Oat bread is only sold on Fridays.",
            "Please do not round the prices.",
        ],
        steps: [
            "read last year's bread prices",
            "compute the new price of spelt bread",
            "write the heading of the price list",
        ],
        query: "average price of spelt bread",
    },
    Scenario {
        intent: "Move the library catalogue from CSV to SQLite and put the script into migrate/catalogue.py.",
        file: "migrate/catalogue.py",
        told: [
            ("path of the export", "/data/export_2024.csv"),
            ("batch size", "500 rows"),
            ("name of the branch", "feature-catalogue"),
        ],
        untold: ["password of the staging server", "number of readers"],
        choices: [
            (
                "primary key",
                "the ISBN",
                "a running number",
                "it is unique already",
            ),
            (
                "date format",
                "ISO dates",
                "Unix seconds",
                "people read the table",
            ),
        ],
        constraints: [
            "The script must not need any package beside the standard library.",
            "Keep the original CSV untouched and never delete rows.",
            "The migration has to finish within 10 minutes.",
            "Always write a log line for each skipped book.",
        ],
        steps: [
            "parse the header of the catalogue CSV",
            "create the SQLite tables",
            "count the books in the export",
        ],
        query: "sqlite import csv python",
    },
    Scenario {
        intent: "Find a hotel in Ghent for our choir trip and collect the offers in offers/ghent.md.",
        file: "offers/ghent.md",
        told: [
            ("number of singers", "23"),
            ("arrival date", "12 June"),
            ("contact person", "Ines Vandamme"),
        ],
        untold: ["booking code of the train", "favourite breakfast"],
        choices: [
            (
                "area",
                "the old harbour",
                "the station quarter",
                "it is quiet at night",
            ),
            (
                "kind of room",
                "twin rooms",
                "dormitories",
                "most singers asked for them",
            ),
        ],
        constraints: [
            "The budget is at most 90 euros a night.",
            "We need a rehearsal room without fail.",
            "No hotel outside the city ring, please; that is mandatory.",
            "Do not book anything before I confirm.",
        ],
        steps: [
            "compare hotel offers in Ghent",
            "ask the hotel for a rehearsal room",
            "list hotels near the harbour",
        ],
        query: "group hotel Ghent rehearsal room",
    },
    Scenario {
        intent: "Prepare a report on the leaks of our greenhouse irrigation and save it under reports/leaks.txt.",
        file: "reports/leaks.txt",
        told: [
            ("sensor id", "GH-204"),
            ("pump model", "Aqua 9"),
            ("valve with the leak", "valve 17"),
        ],
        untold: ["warranty number", "height of the tank"],
        choices: [
            (
                "unit",
                "litres per hour",
                "gallons",
                "the sensors report litres",
            ),
            (
                "period",
                "the last four weeks",
                "the whole year",
                "older data has gaps",
            ),
        ],
        constraints: [
            "The report may not name any employee.",
            "Use at most three charts.",
            "Make sure that each number has its source.",
            "Nothing over 2 pages, that is a strict requirement.",
        ],
        steps: [
            "read the pressure log of the irrigation",
            "chart the water loss of the greenhouse",
            "compare the leaks week by week",
        ],
        query: "irrigation leak detection pressure",
    },
    Scenario {
        intent: "Draft the autumn newsletter of the clock museum in news/autumn.html.",
        file: "news/autumn.html",
        told: [
            ("opening day of the exhibition", "3 October"),
            ("curator", "Dr. Lindqvist"),
            ("ticket price", "11 kroner"),
        ],
        untold: ["number of subscribers", "font of the logo"],
        choices: [
            (
                "lead story",
                "the tower clock",
                "the pocket watches",
                "its repair is finished",
            ),
            (
                "tone",
                "a personal tone",
                "a formal tone",
                "readers liked it last time",
            ),
        ],
        constraints: [
            "The newsletter should not be longer than 400 words.",
            "Always spell the museum's name in capitals.",
            "Pictures without a licence are forbidden.",
            "The deadline is 20 September.",
        ],
        steps: [
            "write the paragraph on the tower clock",
            "pick a picture for the newsletter",
            "check the dates of the exhibition",
        ],
        query: "tower clock restoration history",
    },
    Scenario {
        intent: "Clean the payroll table of the ferry company and store the result as payroll/clean.csv.",
        file: "payroll/clean.csv",
        told: [
            ("payroll month", "February 2025"),
            ("tax code of the crew", "K7"),
            ("column with the overtime", "ot_hours"),
        ],
        untold: ["bank of the captain", "union fee"],
        choices: [
            (
                "treatment of empty cells",
                "zeros",
                "blanks",
                "the importer rejects blanks",
            ),
            (
                "separator",
                "semicolons",
                "commas",
                "amounts contain commas",
            ),
        ],
        constraints: [
            "Under no circumstances send names outside the company.",
            "Employee numbers must keep their leading zeros.",
            "I prefer a script that runs on Windows.",
            "Only rows of active crew members belong in the result.",
        ],
        steps: [
            "remove double rows from the payroll",
            "normalise the overtime of the crew",
            "check the employee numbers",
        ],
        query: "csv leading zeros employee numbers",
    },
    Scenario {
        intent: "Write a radio play about a lighthouse keeper; the manuscript belongs in play/lighthouse.md.",
        file: "play/lighthouse.md",
        told: [
            ("name of the keeper", "Marthe Olsen"),
            ("length of the play", "25 minutes"),
            ("year of the story", "1911"),
        ],
        untold: ["fee of the actors", "studio address"],
        choices: [
            (
                "narrator",
                "the keeper's daughter",
                "an old sailor",
                "she knows the secret",
            ),
            (
                "ending",
                "an open ending",
                "a happy ending",
                "the station asked for it",
            ),
        ],
        constraints: [
            "There must be no more than four voices.",
            "Avoid dialect in the dialogues.",
            "The storm can't be heard before the third scene.",
            "Each scene needs to end with a sound.",
        ],
        steps: [
            "write the first scene of the play",
            "describe the lighthouse in the storm",
            "shorten the dialogue of the keeper",
        ],
        query: "lighthouse keeper daily work 1911",
    },
    Scenario {
        intent: "Set up an inventory for my bicycle workshop and export the parts to stock/parts.json.",
        file: "stock/parts.json",
        told: [
            ("shelf for the chains", "shelf B4"),
            ("supplier of the tyres", "Velora"),
            ("minimum stock of brake pads", "12 pairs"),
        ],
        untold: ["colour of the van", "insurance policy"],
        choices: [
            (
                "part numbers",
                "the maker's numbers",
                "our own numbers",
                "labels carry them",
            ),
            (
                "stock count",
                "a weekly count",
                "a daily count",
                "we are two people",
            ),
        ],
        constraints: [
            "Don't list parts that cost less than 2 euros.",
            "The export has to be valid JSON.",
            "We cannot spend over 150 euros on software.",
            "Ideally the inventory works offline.",
        ],
        steps: [
            "count the tyres in the workshop",
            "add the brake pads to the inventory",
            "export the parts of the bicycle shelves",
        ],
        query: "bicycle parts inventory json",
    },
];

/// Actions that serve none of the tasks: a tool, its argument, and the words that announce the action.
pub(super) const STRAY: [(&str, &str, &str); 8] = [
    (
        "search_web",
        "football results Saturday",
        "look up the football results",
    ),
    ("get_weather", "Reykjavik", "check the weather in Reykjavik"),
    (
        "send_mail",
        "cousin Ludo birthday",
        "congratulate cousin Ludo on his birthday",
    ),
    (
        "search_web",
        "volcano documentary streaming",
        "find a documentary about volcanoes",
    ),
    (
        "translate",
        "sonnet Portuguese",
        "translate a sonnet into Portuguese",
    ),
    (
        "run_query",
        "telescope satellites orbit",
        "calculate satellite orbits",
    ),
    (
        "play_music",
        "saxophone ballads",
        "arrange some saxophone ballads",
    ),
    ("open_app", "chess puzzles", "solve a few chess puzzles"),
];
