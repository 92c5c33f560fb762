package view

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

// Reader reads what is shown. It is safe for use by many goroutines if what it was made of
// is.
type Reader struct {
	hub    client.Reader
	mapper meta.RESTMapper
	served *kube.ServedKinds
	clock  clock.PassiveClock
}

// New returns a Reader of a hub: with the rights of whoever made the client.Reader, which
// may read from a cache. The mapper knows the kinds of the hub, and served in which versions it serves them now: a mapper that is
// old still has versions that are served no more, and not those that came later.
func New(hub client.Reader, mapper meta.RESTMapper, served *kube.ServedKinds, clk clock.PassiveClock) (*Reader, error) {
	if hub == nil || mapper == nil || served == nil || clk == nil {
		return nil, errors.New("making a reader of the hub: it needs a client, a mapper of kinds, those that are served, and a clock")
	}
	return &Reader{hub: hub, mapper: mapper, served: served, clock: clk}, nil
}

// page is how many objects are asked for at once: what is large is never held as a whole.
const page = 500

// listPages lists a kind in pages and calls each with every one of them. A cache, which has no
// pages, gives all at once.
func listPages[L client.ObjectList](ctx context.Context, hub client.Reader, empty func() L, each func(L), opts ...client.ListOption) error {
	for next := ""; ; {
		list := empty() // what is decoded into a list that was used mixes with what it had
		if err := hub.List(ctx, list, slices.Concat(opts, []client.ListOption{client.Limit(page), client.Continue(next)})...); err != nil {
			return err
		}
		each(list)
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}
