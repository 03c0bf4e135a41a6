package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// vocabulary remembers words of the store, which are never removed or changed.
type vocabulary struct {
	sync.Mutex
	ids   map[string]int64
	texts map[int64]string
}

func newVocabulary() *vocabulary {
	return &vocabulary{ids: map[string]int64{}, texts: map[int64]string{0: ""}}
}

func (v *vocabulary) id(text string) (int64, bool) {
	v.Lock()
	defer v.Unlock()
	id, ok := v.ids[text]
	return id, ok
}

func (v *vocabulary) text(id int64) (string, bool) {
	v.Lock()
	defer v.Unlock()
	text, ok := v.texts[id]
	return text, ok
}

func (v *vocabulary) learn(text string, id int64) {
	v.Lock()
	defer v.Unlock()
	v.ids[text], v.texts[id] = id, text
}

// pieces cuts the text of a configuration or a plan so that its settings are
// pieces. Joined they are the text again.
//
// Example: heat[0:1]@1{family=loops,threads=2} is "heat[0:1]@1{",
// "family=loops,", "threads=2}".
func pieces(text string) []string {
	var out []string
	for text != "" {
		n := strings.IndexAny(text, ",{;") + 1
		if n == 0 {
			n = len(text)
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// writing interns texts within a transaction. What it has learnt is true only
// once the transaction has ended well, and then handed on.
type writing struct {
	ctx    context.Context
	tx     *sql.Tx
	words  *vocabulary
	fresh  map[string]int64
	trials *sql.Stmt // inserts one
}

func (s *Store) writing(ctx context.Context, tx *sql.Tx) *writing {
	return &writing{ctx, tx, s.words, map[string]int64{}, s.trialInsert}
}

// done hands on the words, after the end of the transaction.
func (w *writing) done() {
	for text, id := range w.fresh {
		w.words.learn(text, id)
	}
}

func (w *writing) word(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if id, ok := w.words.id(text); ok {
		return id, nil
	}
	if id, ok := w.fresh[text]; ok {
		return id, nil
	}
	id, err := w.row("words", []string{"text"}, text)
	if err == nil {
		w.fresh[text] = id
	}
	return id, err
}

// row returns the number of the row that has these values, and makes it if
// there is none. The columns are unique together.
func (w *writing) row(table string, columns []string, values ...any) (int64, error) {
	var id int64
	find := fmt.Sprintf("SELECT id FROM %s WHERE %s = ?", table, strings.Join(columns, " = ? AND "))
	err := w.tx.QueryRowContext(w.ctx, find, values...).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	return w.insert(table, columns, values...)
}

func (w *writing) insert(table string, columns []string, values ...any) (int64, error) {
	marks := strings.Repeat(", ?", len(columns))[2:]
	result, err := w.tx.ExecContext(w.ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table,
		strings.Join(columns, ", "), marks), values...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (w *writing) config(text string) ([]byte, error) {
	var out []byte
	for _, p := range pieces(text) {
		id, err := w.word(p)
		if err != nil {
			return nil, err
		}
		out = binary.AppendUvarint(out, uint64(id))
	}
	return out, nil
}

// note returns the number of a text, or NULL if there is none.
func (w *writing) note(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	sum := int64(crc32.ChecksumIEEE([]byte(text)))
	var id int64
	err := w.tx.QueryRowContext(w.ctx, "SELECT id FROM notes WHERE sum = ? AND text = ?", sum, text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return w.insert("notes", []string{"sum", "text"}, sum, text)
	}
	return id, err
}

// wordText returns the text of a word.
func (s *Store) wordText(ctx context.Context, q querier, id int64) (string, error) {
	if text, ok := s.words.text(id); ok {
		return text, nil
	}
	var text string
	err := q.QueryRowContext(ctx, "SELECT text FROM words WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", refuse(store.ErrDamaged, fmt.Sprintf("there is no word %d, which a trial names", id),
			"gridloom results check tells more")
	}
	if err == nil {
		s.words.learn(text, id)
	}
	return text, err
}

// configText returns the text of a configuration, in the spelling of today.
func (s *Store) configText(ctx context.Context, q querier, packed []byte) (string, error) {
	var b strings.Builder
	for len(packed) > 0 {
		id, n := binary.Uvarint(packed)
		if n <= 0 {
			return "", errPacked
		}
		packed = packed[n:]
		text, err := s.wordText(ctx, q, int64(id))
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return schedule.RespellText(b.String()), nil
}

var errPacked = errors.New("the bytes of a configuration make no sense")
