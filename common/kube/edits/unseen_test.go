package edits

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func TestAnEditThatWaits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	began := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	web := Unseen{Template: workv1alpha2.ObjectReference{Kind: "Deployment", Namespace: "shop", Name: "web"}, Since: began}
	reader := Unseen{Template: workv1alpha2.ObjectReference{Kind: "ClusterRole", Name: "reader"}, Since: began.Add(time.Second)}

	g.Expect(Unseen{}.OrLonger(reader)).To(Equal(reader))
	g.Expect(reader.OrLonger(Unseen{})).To(Equal(reader))
	g.Expect(reader.OrLonger(web)).To(Equal(web))
	g.Expect(web.OrLonger(reader)).To(Equal(web))

	g.Expect(web.TellIn(began.Add(20 * time.Second))).To(Equal(40 * time.Second))
	g.Expect(web.TellIn(began.Add(time.Hour))).To(BeZero())

	g.Expect(web.Err()).To(And(MatchError(ErrNotSeen), MatchError(And(
		ContainSubstring("since 2026-11-27T12:00:00Z until the hub has looked at Deployment \"web\""), ContainSubstring("hub events Deployment/web -n shop and")))))
	g.Expect(reader.Err()).To(MatchError(ContainSubstring("hub events ClusterRole/reader and")))
}
