package customizations

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/lua"
)

func TestFailuresAreThoseOfOneCustomization(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	woken := 0
	f := NewFailures()
	f.onFirst(func(string) { woken++ })
	of := func(uid types.UID, generation int64) error {
		failure, ok := f.of(&configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: "silos", UID: uid, Generation: generation}})
		if !ok {
			return nil
		}
		return failure.Err
	}
	older, newer, again := errors.New("older"), errors.New("newer"), errors.New("again")
	f.Record(lua.Failure{Customization: "silos", UID: "one", Generation: 5, Err: older})
	g.Expect(of("one", 5)).To(MatchError(older))
	g.Expect(of("two", 5)).To(Succeed(), "another of the same generation did not fail")

	// The customization is deleted and recreated before it is reconciled.
	f.Record(lua.Failure{Customization: "silos", UID: "two", Generation: 1, Err: newer})
	f.Record(lua.Failure{Customization: "silos", UID: "two", Generation: 1, Err: again})
	g.Expect(of("two", 1)).To(MatchError(newer), "the first is told")
	g.Expect(of("one", 5)).To(Succeed())
	g.Expect(woken).To(Equal(2))

	f.Record(lua.Failure{Customization: "silos", UID: "two", Generation: 2, Err: again})
	f.Record(lua.Failure{Customization: "silos", UID: "two", Generation: 1, Err: newer})
	g.Expect(of("two", 2)).To(MatchError(again), "one that was asked longer ago changes nothing")
	f.forget("silos")
	g.Expect(of("two", 2)).To(Succeed())
}
