package revision

import (
	"fmt"
	"strconv"
	"strings"
)

// ID names a revision of one application. The zero value is none.
type ID struct {
	// Number counts up from 1.
	Number int64
	// Hash is that of its content.
	Hash string
}

// Zero says that it is no revision.
func (id ID) Zero() bool { return id == ID{} }

// String returns it as the annotation contract.RevisionAnnotation has it: NUMBER-HASH; empty if
// it is none.
func (id ID) String() string {
	if id.Zero() {
		return ""
	}
	return fmt.Sprintf("%d-%s", id.Number, id.Hash)
}

// Parse reads what String returns. Of anything else it returns none: what a Work has is unknown
// then.
func Parse(s string) ID {
	number, hash, found := strings.Cut(s, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || n < 1 || hash == "" {
		return ID{}
	}
	return ID{Number: n, Hash: hash}
}
