package setup

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// slowHub has some Works, each of which takes a while to arrive, and ends an answer after a minute, as API servers do.
type slowHub struct {
	client.Reader

	works int
	each  time.Duration
	// expires says how many times the rest of a list is forgotten, and lists counts those that were begun.
	expires, lists int
}

func (h *slowHub) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	of := (&client.ListOptions{}).ApplyOptions(opts)
	first := 0
	if of.Continue == "" {
		h.lists++
	} else {
		if h.expires > 0 {
			h.expires--
			return apierrors.NewResourceExpired("the rest of the list is gone")
		}
		var err error
		if first, err = strconv.Atoi(of.Continue); err != nil {
			return err
		}
	}
	end := h.works
	if of.Limit > 0 {
		end = min(end, first+int(of.Limit))
	}
	takes := time.Duration(end-first) * h.each
	time.Sleep(min(takes, time.Minute))
	if takes >= time.Minute {
		return fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF)
	}
	list := into.(*workv1alpha1.WorkList) //nolint:errcheck,forcetypeassert // Nothing else is listed.
	for i := first; i < end; i++ {
		list.Items = append(list.Items, workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: strconv.Itoa(i)}})
	}
	if end < h.works {
		list.Continue = strconv.Itoa(end)
	}
	return nil
}

// TestAMemberThatLeavesReadsItsWorksOverASlowNetwork reads more than an API server sends within a minute.
func TestAMemberThatLeavesReadsItsWorksOverASlowNetwork(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hub     slowHub
		lists   int
		refused bool
	}{
		"no Works":        {lists: 1},
		"a quick network": {hub: slowHub{works: 250}, lists: 1},
		"a network on which a page takes too long":   {hub: slowHub{works: 250, each: time.Second}, lists: 1},
		"a hub that forgets the rest of the list":    {hub: slowHub{works: 250, expires: 2}, lists: 3},
		"a hub that always forgets it":               {hub: slowHub{works: 250, expires: 100}, lists: 3, refused: true},
		"a network on which one Work takes too long": {hub: slowHub{works: 1, each: time.Minute}, lists: 1, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				hub := tc.hub
				works, err := worksIn(t.Context(), &hub, "karmada-es-ship", clock.RealClock{})
				if tc.refused {
					g.Expect(err).To(HaveOccurred())
					g.Expect(works).To(BeNil(), "a part of them would pass for all")
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(works).To(HaveLen(hub.works))
				for i, work := range works {
					g.Expect(work.Name).To(Equal(strconv.Itoa(i)))
				}
				if tc.hub.each == 0 {
					g.Expect(hub.lists).To(Equal(tc.lists))
				}
			})
		})
	}
}
