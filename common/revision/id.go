package revision

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// ID names a revision of an application. The zero value means none.
type ID struct {
	// Number counts up from 1.
	Number int64
	// Hash is the hash of its content.
	Hash string
}

// Zero returns whether the ID means no revision.
func (id ID) Zero() bool { return id == ID{} }

// String returns the form used in the annotation contract.RevisionAnnotation: NUMBER-HASH; empty for no revision.
func (id ID) String() string {
	if id.Zero() {
		return ""
	}
	return fmt.Sprintf("%d-%s", id.Number, id.Hash)
}

// Of returns the revision with this number from the status of a rollout; none if it is not stored any more.
func Of(revisions []fairleadv1alpha1.RevisionStatus, number int64) ID {
	for _, r := range revisions {
		if r.Number == number {
			return idOf(r)
		}
	}
	return ID{}
}

// NewestEdit returns the newest revision that was made from edits, not from an older revision; none if there is none.
func NewestEdit(revisions []fairleadv1alpha1.RevisionStatus) ID {
	return newest(revisions, func(r fairleadv1alpha1.RevisionStatus) bool { return r.ContentOf == 0 })
}

// Adopted returns the revision that was found when the strategy was added, the newest if that happened several times;
// none if there is none. A Work without a revision that renders the same has it.
func Adopted(revisions []fairleadv1alpha1.RevisionStatus) ID {
	return newest(revisions, func(r fairleadv1alpha1.RevisionStatus) bool { return r.Cause == fairleadv1alpha1.CauseAdopted })
}

func newest(revisions []fairleadv1alpha1.RevisionStatus, which func(fairleadv1alpha1.RevisionStatus) bool) ID {
	for _, r := range slices.Backward(revisions) {
		if which(r) {
			return idOf(r)
		}
	}
	return ID{}
}

func idOf(r fairleadv1alpha1.RevisionStatus) ID { return ID{Number: r.Number, Hash: r.Hash} }

// Parse parses the result of String. Anything else yields none: the content of that Work is then unknown.
func Parse(s string) ID {
	number, hash, found := strings.Cut(s, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || n < 1 || hash == "" {
		return ID{}
	}
	return ID{Number: n, Hash: hash}
}
