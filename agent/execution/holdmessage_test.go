package execution

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestTheWordForWhatWasToldLetsNothingGoThatEndsLater(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	first := h.end("first-", 15)
	word := h.tells()
	h.Expect(h.said()).To(HavePrefix("15 of 65 objects"))
	later := h.end("later-", 40)
	h.Expect(h.counts(time.Second)).To(BeTrue())
	h.Expect(h.said()).To(And(HavePrefix("55 of 105 objects"), ContainSubstring("lets go the 55 ")))
	h.Expect(h.tells()).NotTo(Equal(word))

	h.answers(word)
	h.Expect(h.passing(later)).To(BeZero(), "nobody was told of these by that message")
	h.tells()
	h.Expect(h.said()).To(And(HavePrefix("40 of 105 objects"), ContainSubstring("lets go the 40 ")))
	h.Expect(h.passing(first)).To(Equal(15), "they go, whatever is held since")
	h.answers(h.tells())
	h.Expect(h.passing(later)).To(Equal(40))
}

// A ship that was away hears the word and what was marked since at once.
func TestDeletionsAfterTheApprovalAreCountedAnew(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	first := h.end("first-", 15)
	word := h.tells()
	h.cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: word}
	later := endingWorks(40)
	h.works = append(h.works, later...)
	h.Observe(h.cluster)
	h.tells()
	h.Expect(h.passing(later)).To(BeZero())
	h.Expect(h.passing(first)).To(Equal(15))
	h.Expect(h.tells()).NotTo(Equal(word))
}

func TestAnAgentThatStartsHoldsWhatIsToGoAgainstWhatTheClusterSays(t *testing.T) {
	t.Parallel()
	before := "15 of 65 objects were to go within a minute, and the brake lets 3 or 20 % go: nothing is deleted. If it is meant, set the annotation " +
		contract.DeletionsApprovedAnnotation + "=2023-11-14T22:13:20Z on this Cluster; if not, mend what asks for it on the hub first"
	// The hub keeps this message across an upgrade of the agent: if it is reworded, holdOf must still parse the old
	// wording.
	released := "60 of 110 objects were to go within a minute, and the brake lets 3 or 20 % go: nothing is deleted. If it is meant, set the annotation " +
		"fairlead.dev/deletions-approved=2023-11-14T22:13:20Z on this Cluster, which lets go the 15 that are left of them, and nothing that is marked later; " +
		"if not, mend what asks for it on the hub first"
	for name, tc := range map[string]struct {
		more, fewer int
		message     string
		goes        int
	}{
		"nothing is marked since":                    {goes: 15},
		"a little more, as goes without a word":      {more: 3, goes: 18},
		"much more":                                  {more: 40},
		"less, and as much more":                     {fewer: 10, more: 10, goes: 15},
		"as an agent of before says it":              {message: before, goes: 15},
		"as it says it, and much more":               {message: before, more: 40},
		"as agents say it that are released":         {message: released, goes: 15},
		"as these say it, and much more":             {message: released, more: 40},
		"nobody knows of how many people were told":  {message: "held"},
		"of how many is nothing that can be counted": {message: "-9 of 65 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHolding(t)
			all := h.end("first-", 15)
			word := h.tells()
			if tc.message != "" {
				h.cluster.Status.Conditions[0].Message = tc.message
			}
			h.cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: word} // while no agent runs
			all = append(all[tc.fewer:], endingWorks(tc.more)...)
			h.works = append(h.works[:50], all...)
			h.restarts()
			h.Expect(h.passing(all)).To(Equal(tc.goes))
			if tc.goes == 0 {
				h.Expect(h.said()).To(HavePrefix(fmt.Sprintf("%d of %d objects", len(all), len(h.works))))
				h.Expect(h.tells()).NotTo(Equal(word))
				h.answers(h.tells())
				h.Expect(h.passing(all)).To(Equal(len(all)))
			}
		})
	}
}

// TestAHoldOfWhichPartIsTakenBackTellsOfTheRest checks that a withdrawn deletion leaves no room for another one under
// the same approval.
func TestAHoldOfWhichPartIsTakenBackTellsOfTheRest(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	h.end("first-", 60)
	word := h.tells()
	h.works = h.works[:55]
	h.Expect(h.counts(time.Second)).To(BeFalse())
	h.Expect(h.said()).To(And(HavePrefix("5 of 55 objects"), ContainSubstring("="+word+" "), ContainSubstring("lets go the 5 ")))
	others := endingWorks(55)
	h.works = append(h.works, others...)
	h.cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: word}
	h.restarts()
	h.Expect(h.passing(others)).To(BeZero())
	h.Expect(h.said()).To(HavePrefix("60 of 110 objects"))
}

// TestAnOperatorGetsOnWhileDeletionsArrive has deletions arrive continuously: each approval makes progress, and the
// message is at most a minute old.
func TestAnOperatorGetsOnWhileDeletionsArrive(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	h.end("first-", 15)
	word, renewed := h.tells(), 0
	for i := range 120 {
		h.end(fmt.Sprint("later-", i, "-"), 1)
		if h.counts(time.Second) {
			renewed++
		}
	}
	h.Expect(renewed).To(BeNumerically("<", 10), "people can read a message before the next one comes")
	h.Expect(h.counts(time.Minute)).To(BeTrue())
	h.Expect(h.said()).To(ContainSubstring("lets go the 135 "))
	goes := func() int { // which ends then
		n := 0
		h.works = slices.DeleteFunc(h.works, func(work workv1alpha1.Work) bool {
			gone := deletes(work) && h.passing([]workv1alpha1.Work{work}) == 1
			if gone {
				n++
			}
			return gone
		})
		return n
	}
	h.answers(word)
	h.Expect(goes()).To(Equal(15))
	word = h.tells()
	h.end("last-", 2)
	h.counts(0)
	h.answers(word)
	h.Expect(goes()).To(Equal(122), "two go as without a word")
}

// TestTheWordIsForWhatGoesAlongAsItWasTold covers a Namespace whose deletion a person approved with its contents,
// some of which the Cluster's message included and some of which came later.
func TestTheWordIsForWhatGoesAlongAsItWasTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		restarts bool
		takes    int
		passes   bool
	}{
		"as was told":                      {takes: 30, passes: true},
		"more than was told":               {takes: 45},
		"as was told, after a restart":     {restarts: true, takes: 30, passes: true},
		"more than was told, and restarts": {restarts: true, takes: 45},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHolding(t)
			around := endingWorks(1)
			h.works = append(h.works, around...)
			list := func() ([]workv1alpha1.Work, error) { return h.works, nil }
			h.Expect(h.Pass(&around[0], 30, list, h.now)).To(BeFalse())
			word := h.tells()
			h.Expect(h.said()).To(And(HavePrefix("31 of 51 objects"), ContainSubstring("lets go the 31 ")))
			if tc.restarts {
				h.restarts()
				h.Expect(h.Pass(&around[0], 30, list, h.now)).To(BeFalse())
				h.Expect(h.counts(time.Second)).To(BeFalse(), "it is as it was told")
			}
			h.answers(word)
			h.Expect(h.Pass(&around[0], tc.takes, list, h.now)).To(Equal(tc.passes))
		})
	}
}

// TestAnAgentThatStartsTellsOfWhatIsStillHeld has part of the held deletions withdrawn while no agent runs, or before
// the new one has seen them. The message counts the rest only once all were reconciled, since only then is it known
// what is deleted along with them.
func TestAnAgentThatStartsTellsOfWhatIsStillHeld(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	first := h.end("first-", 24)
	around := endingWorks(1)
	h.works = append(h.works, around...)
	list := func() ([]workv1alpha1.Work, error) { return h.works, nil }
	h.Expect(h.Pass(&around[0], 30, list, h.now)).To(BeFalse())
	h.Expect(h.counts(time.Minute)).To(BeTrue())
	word := h.tells()
	h.Expect(h.said()).To(ContainSubstring("lets go the 55 "))

	h.works = slices.DeleteFunc(h.works, func(work workv1alpha1.Work) bool {
		return slices.ContainsFunc(first[:14], func(one workv1alpha1.Work) bool { return one.UID == work.UID })
	})
	h.restarts()
	h.Expect(h.passing(first[14:])).To(BeZero())
	h.Expect(h.counts(time.Second)).To(BeFalse())
	h.Expect(h.said()).To(ContainSubstring("lets go the 55 "), "what the last one takes along is not known")
	h.Expect(h.Pass(&around[0], 30, list, h.now)).To(BeFalse())
	h.Expect(h.counts(time.Second)).To(BeFalse())
	h.Expect(h.said()).To(And(HavePrefix("41 of 61 objects"), ContainSubstring("lets go the 41 ")))
	h.Expect(h.tells()).To(Equal(word))

	h.end("later-", 3)
	h.counts(time.Second)
	h.Expect(h.said()).To(ContainSubstring("lets go the 41 "), "they had no part in that message")
	h.Expect(h.counts(time.Minute)).To(BeTrue())
	h.Expect(h.said()).To(ContainSubstring("lets go the 44 "))
	h.answers(word)
	h.Expect(h.Pass(&around[0], 30, list, h.now)).To(BeTrue())
	h.Expect(h.passing(first[14:])).To(Equal(10))
}

// More is marked, by less than was taken back: that is told as well.
func TestAReplacedDeletionIsTold(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	h.end("first-", 15)
	h.works = h.works[:55]
	h.end("later-", 3)
	h.counts(time.Second)
	h.Expect(h.said()).To(ContainSubstring("lets go the 5 "))
	h.Expect(h.IsUncounted()).To(BeTrue())
	h.Expect(h.counts(time.Minute)).To(BeTrue())
	h.Expect(h.said()).To(ContainSubstring("lets go the 8 "))
}
