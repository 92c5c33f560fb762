package revision

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// ID names a revision of one application. The zero value is none.
type ID struct {
	// Number counts up from 1.
	Number int64
	// Hash is the hash of its content.
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

// Of returns the revision of a number, of those that the status of a rollout has; none if it is not
// kept.
func Of(revisions []fairleadv1alpha1.RevisionStatus, number int64) ID {
	for _, r := range revisions {
		if r.Number == number {
			return idOf(r)
		}
	}
	return ID{}
}

// NewestEdit returns the newest revision that was made of what was found, and not of an older one;
// none if there is none.
func NewestEdit(revisions []fairleadv1alpha1.RevisionStatus) ID {
	return newest(revisions, func(r fairleadv1alpha1.RevisionStatus) bool { return r.ContentOf == 0 })
}

// Adopted returns the revision that was found when the strategy was added, the newest if that was
// more than once; none if there is none. A Work without a revision that is what it renders has it.
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
