package status

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/hub/flow/status/aggregate"
)

// mostTries bounds the tries of one search.each.
const mostTries = 64

// mostTogether bounds how many items search.together leaves out that would be acceptable alone. Each takes a few requests.
const mostTogether = 16

// longestSearch is when a search stops trying: the rules of a kind may take a second for each try, while other bindings wait.
const longestSearch = 4 * time.Second

// leaveOut searches for the items that keep the others from being aggregated, and leaves them out; it returns whether it found any.
// It finds none if even no items at all give no status: then the template, or the rules of its kind, are at fault. Why is the error of
// aggregating all items. It does not search while the memory's rest lasts, which begins with a search that found nothing.
func (r *Reconciler) leaveOut(ctx context.Context, template *unstructured.Unstructured, out *aggregate.Decision, known *memory, why error) bool {
	began := r.clock.Now()
	if began.Before(known.rest) {
		return false
	}
	dry := client.NewDryRunClient(r.hubClient)
	of := search{out: out, known: known, clock: r.clock, until: began.Add(longestSearch), try: func(items []workv1alpha2.AggregatedStatusItem) error {
		_, _, err := r.writeTemplate(ctx, dry, template, items)
		return err
	}}
	of.search(why)
	if of.found && !of.unanswered && !of.late {
		known.fit(out, began) // forgets the clusters that are not left out any more
	}
	if now := r.clock.Now(); of.found {
		known.rest = time.Time{}
	} else {
		known.rest = now.Add(restShare * now.Sub(began))
	}
	return of.found
}

// search finds the items that make a status unacceptable.
type search struct {
	out *aggregate.Decision
	// known is what earlier searches found; this search adds to it.
	known *memory
	// try returns an error unless items can be aggregated into a status. It writes nothing.
	try func(items []workv1alpha2.AggregatedStatusItem) error
	// clock tells when until has passed, after which nothing more is tried; late says that it has.
	clock clock.PassiveClock
	until time.Time
	late  bool
	found bool
	// unanswered says that a try failed for a reason other than its items, such as an unreachable API server.
	unanswered bool
	// tries is how many tries each has left.
	tries int
}

// errLate is the result of ask after the search's time is up. It implies nothing about the items.
var errLate = errors.New("the search took too long")

// ask tries to aggregate items, unless the search's time is up.
func (s *search) ask(items []workv1alpha2.AggregatedStatusItem) error {
	if s.late = s.late || !s.clock.Now().Before(s.until); s.late {
		return errLate
	}
	return s.try(items)
}

func (s *search) search(why error) {
	if len(s.out.Reported) == 0 || s.ask([]workv1alpha2.AggregatedStatusItem{}) != nil { // an empty slice, since scripts do not expect nil
		return
	}
	if s.again() {
		return
	}
	s.halve(0, len(s.out.Reported), why)
	if s.found || !interpreter.IsExceeded(why) {
		s.together()
	}
}

// again first tries the clusters that an earlier search left out and the range that it did not get to. It returns whether that
// suffices, so that the rest need not be searched.
func (s *search) again() bool {
	from, to := len(s.out.Reported), 0
	var suspects []int
	for i := range s.out.Reported {
		switch item := &s.out.Reported[i]; {
		case item.Status == nil:
		case s.known.left[item.ClusterName] != aggregate.LeftOut{}:
			suspects = append(suspects, i)
			s.alone(i, i+1)
		case s.known.from != "" && s.known.from <= item.ClusterName && item.ClusterName <= s.known.to:
			from, to = min(from, i), i+1
		}
	}
	if s.known.from, s.known.to = "", ""; from < to {
		s.alone(from, to)
	}
	if len(suspects) == 0 && !s.found {
		return false
	}
	err := s.ask(s.out.Reported)
	suspects = slices.DeleteFunc(suspects, func(i int) bool { return s.out.Reported[i].Status == nil })
	if !isUnacceptable(err) || len(suspects) == 0 || !s.fits(suspects) {
		return err == nil
	}
	for _, i := range slices.Clone(suspects) {
		if others := slices.DeleteFunc(slices.Clone(suspects), func(j int) bool { return j == i }); len(others) > 0 && s.fits(others) {
			suspects = others
		}
	}
	if s.unanswered {
		return true // the next search decides
	}
	for _, i := range suspects {
		s.leaveOut(i, err)
	}
	return true
}

// alone leaves out the items of a range that are unacceptable by themselves, which it finds by bisection.
func (s *search) alone(from, to int) {
	// If there was no answer, a later search tries again.
	if err := s.ask(s.out.Reported[from:to]); isUnacceptable(err) {
		s.halve(from, to, err)
	}
}

// halve does the same as alone for a range that is known to be unacceptable.
func (s *search) halve(from, to int, why error) {
	if to-from == 1 {
		s.leaveOut(from, why)
		return
	}
	middle := (from + to) / 2
	s.alone(from, middle)
	s.alone(middle, to)
	if s.late && s.known.from == "" {
		s.known.from, s.known.to = s.out.Reported[from].ClusterName, s.out.Reported[to-1].ClusterName
	}
}

// together leaves out items that are acceptable alone but not with the others, such as a number so large that adding any other overflows.
// Each round leaves out the item without which the others are acceptable. If there is none, or more than one, items are added in
// ascending order of their claims, and the first that makes the sum unacceptable is left out. Nothing is left out because a try was not
// answered, or because the rules of the kind lack time or memory for so many items: no item is at fault then, and each try would take
// as long.
func (s *search) together() {
	for range mostTogether {
		err := s.ask(s.out.Reported)
		if !isUnacceptable(err) || interpreter.IsExceeded(err) {
			return
		}
		order := aggregate.ByClaims(s.out.Reported)
		if len(order) == 0 || !s.fits(order) {
			return // the items' statuses are not at fault
		}
		var at int
		s.tries = mostTries
		if alone := s.each(order); len(alone) == 1 {
			at = alone[0]
		} else {
			at = order[sort.Search(len(order)-1, func(i int) bool { return !s.fits(order[i+1:]) })]
		}
		if s.unanswered {
			return
		}
		s.leaveOut(at, err)
	}
}

// each searches, by bisection, a set whose removal makes the others acceptable for the items whose removal alone does. It returns at most
// two of them: if the sum is only a little too large, removing any item helps. If no single item helps but any two do, it gives up when
// its tries are spent.
func (s *search) each(of []int) []int {
	if len(of) == 1 {
		return of
	}
	var out []int
	for _, half := range [][]int{of[:len(of)/2], of[len(of)/2:]} {
		if s.tries--; len(out) < 2 && s.tries >= 0 && s.fits(half) {
			out = append(out, s.each(half)...)
		}
	}
	return out
}

// fits returns whether the items are acceptable without some of them.
func (s *search) fits(without []int) bool {
	err := s.ask(s.without(without))
	s.unanswered = s.unanswered || err != nil && !isUnacceptable(err)
	return err == nil
}

// without returns the reported items except those with some indexes.
func (s *search) without(left []int) []workv1alpha2.AggregatedStatusItem {
	skip := make([]bool, len(s.out.Reported))
	for _, i := range left {
		skip[i] = true
	}
	out := make([]workv1alpha2.AggregatedStatusItem, 0, len(s.out.Reported))
	for i := range s.out.Reported {
		if !skip[i] {
			out = append(out, s.out.Reported[i])
		}
	}
	return out
}

func (s *search) leaveOut(i int, why error) {
	if s.out.Reported[i].Status == nil {
		return // there is no status to leave out
	}
	s.found = true
	s.known.left[s.out.Reported[i].ClusterName] = aggregate.NewLeftOut(&s.out.Reported[i], why.Error()+".")
	aggregate.LeaveOut(&s.out.Reported[i], why.Error()+".")
	aggregate.LeaveOut(&s.out.Items[i], why.Error()+".")
}

func isUnacceptable(err error) bool { return errors.As(err, new(unacceptableError)) }
