package emit

import (
	"strconv"
	"strings"
	"unicode"
)

// libraryWords are words of a library's own interface and code.
const libraryWords = `handle value count given step status arrays`

// takenLibraries are names that a library of its own would hide: C headers,
// system libraries, targets of CMake, modules of Fortran, files of the package.
const takenLibraries = `
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar wchar wctype omp unistd
all clean help install test package edit_cache rebuild_cache depend
c m dl rt pthread gomp util crypt z stdc gcc gfortran
iso_c_binding iso_fortran_env ieee_arithmetic ieee_exceptions ieee_features omp_lib omp_lib_kinds
main readme cmakelists`

const pythonWords = `
False None True and as assert async await break class continue def del elif else except finally for from global if
import in is lambda match nonlocal not or pass raise return try while with yield
self threads given count np ctypes operator os sys tuple sum enumerate isinstance type super getattr float bool int str
range len min max abs round print object property BaseException ValueError TypeError OverflowError RuntimeError`

// pythonModules are the standard library's, and those that the module imports.
const pythonModules = `
numpy ctypes abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii
bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression
concurrent configparser contextlib contextvars copy copyreg crypt csv curses dataclasses datetime dbm decimal difflib
dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions
ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib
imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma
mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath
nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform
plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri
random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site
smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string
stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios test
textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo
types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib
xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`

func wordSet(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, l := range lists {
		for _, w := range strings.Fields(l) {
			set[w] = true
		}
	}
	return set
}

var (
	libraryReserved = wordSet(libraryWords)
	librariesTaken  = wordSet(takenLibraries)
	pythonReserved  = wordSet(pythonWords)
	pythonTaken     = wordSet(pythonModules, pythonWords)
)

// longestLibrary is how long a library's name may be. Fortran's names have 63
// characters at most, to which the interface adds up to 15, and lines have 132,
// some of which hold a name twice.
const longestLibrary = 30

// libraryName makes a program's name one that a C prefix, a file, a library
// and a CMake target can have.
func libraryName(name string) string {
	name = identifier(name)
	name = name[:min(len(name), longestLibrary)]
	if !unicode.IsLetter(rune(name[0])) {
		name = "stencil" + name
	}
	if C.Reserved[name] || librariesTaken[strings.ToLower(name)] || strings.HasPrefix(name, "gl_") {
		name += "_stencil"
	}
	return name
}

// identifier replaces what no identifier may hold.
func identifier(name string) string {
	text := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
	if text == "" || unicode.IsDigit(rune(text[0])) {
		text = "_" + text
	}
	return text
}

// pythonModule is the name of the Python module: the library's, unless a
// module of the standard library is called so.
func pythonModule(name string) string {
	if pythonTaken[name] {
		return name + "_stencil"
	}
	return name
}

// pythonClass is the library's name as a Python class: gray_scott is GrayScott.
func pythonClass(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	if pythonReserved[b.String()] {
		b.WriteString("_")
	}
	return b.String()
}

// A namespace gives every name of the source one that a language permits and
// that nothing else in the same scope has.
type namespace struct {
	legal func(string) string
	fold  bool // names that differ in case alone are the same
	limit int  // longest name; 0 for none
	taken map[string]bool
}

func newNamespace(legal func(string) string) *namespace {
	return &namespace{legal: legal, taken: map[string]bool{}}
}

func (n *namespace) key(name string) string {
	if n.fold {
		return strings.ToLower(name)
	}
	return name
}

// reserve keeps names from being given out.
func (n *namespace) reserve(names ...string) {
	for _, w := range names {
		n.taken[n.key(w)] = true
	}
}

// pick returns the name to use for one of the source's.
func (n *namespace) pick(name string) string {
	base := n.legal(name)
	for i := 1; ; i++ {
		tail := ""
		if i > 1 {
			tail = "_" + strconv.Itoa(i)
		}
		pick := base
		if n.limit > 0 && len(pick)+len(tail) > n.limit {
			pick = pick[:n.limit-len(tail)]
		}
		pick += tail
		if !n.taken[n.key(pick)] {
			n.reserve(pick)
			return pick
		}
	}
}

func legalC(name string) string {
	name = C.legal(name)
	if libraryReserved[name] {
		return name + "_"
	}
	return name
}

func legalPython(name string) string {
	// A leading underscore is for the module's own names.
	if strings.HasPrefix(name, "_") {
		return "v" + name
	}
	if pythonReserved[name] {
		return name + "_"
	}
	return name
}

func legalFortran(name string) string {
	if strings.HasPrefix(name, "_") {
		return "v" + name
	}
	return name
}
