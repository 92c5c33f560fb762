package view

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube/watchset"
)

// Reader reads what people see of a hub. It is safe for concurrent use if its client is.
type Reader struct {
	hub    client.Reader
	mapper meta.RESTMapper
	served *watchset.ServedKinds
	clock  clock.PassiveClock
}

// New returns a Reader with the rights of the client.Reader, which may read from a cache. The mapper maps the kinds of
// the hub. Served tells in which versions they are served now: an old mapper may have versions that are gone, and lack
// new ones.
func New(hub client.Reader, mapper meta.RESTMapper, served *watchset.ServedKinds, clk clock.PassiveClock) (*Reader, error) {
	if hub == nil || mapper == nil || served == nil || clk == nil {
		return nil, errors.New("making a reader of the hub: it needs a client, a mapper of kinds, those that are served, and a clock")
	}
	return &Reader{hub: hub, mapper: mapper, served: served, clock: clk}, nil
}

// page is the page size of lists, so that large lists are never held as a whole.
const page = 500

// listPages lists a kind in pages, and calls each with every page. A cache returns everything at once.
func listPages[L client.ObjectList](ctx context.Context, hub client.Reader, empty func() L, each func(L), opts ...client.ListOption) error {
	for next := ""; ; {
		list := empty() // decoding into a used list would mix with its content
		if err := hub.List(ctx, list, slices.Concat(opts, []client.ListOption{client.Limit(page), client.Continue(next)})...); err != nil {
			return err
		}
		each(list)
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}
