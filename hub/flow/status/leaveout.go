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

// mostTries bounds how often it is tried, each time, without whom alone the others fit.
const mostTries = 64

// mostTogether bounds how many items are left out of which each would do alone. Each takes a few requests.
const mostTogether = 16

// longestSearch is after how long a search tries nothing more: rules may take a second for each try, and the other bindings wait.
const longestSearch = 4 * time.Second

// leaveOut finds the items without which the others add up to a status, and takes them out. It
// finds none if there is no status even without any: then it is the template, or
// the rules of its kind, that is at fault. Why is what is wrong with all items.
// There is none while an earlier one that found nobody is too near.
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
		known.fit(out, began) // who was left out before and is not now
	}
	if now := r.clock.Now(); of.found {
		known.rest = time.Time{}
	} else {
		known.rest = now.Add(restShare * now.Sub(began))
	}
	return of.found
}

// search is one for the items that make a status unacceptable.
type search struct {
	out *aggregate.Decision
	// known is what searches found before, and this one does.
	known *memory
	// try says whether items add up to a status. It changes nothing.
	try func(items []workv1alpha2.AggregatedStatusItem) error
	// clock says when it is too late for another try.
	clock clock.PassiveClock
	until time.Time
	late  bool
	found bool
	// unanswered says that the API could not be asked in between.
	unanswered bool
	// tries are left for who alone is in the way.
	tries int
}

// errLate is the answer to what is not tried any more. It says nothing of the items.
var errLate = errors.New("the search took too long")

// ask tries whether items add up to a status, if it is not too late.
func (s *search) ask(items []workv1alpha2.AggregatedStatusItem) error {
	if s.late = s.late || !s.clock.Now().Before(s.until); s.late {
		return errLate
	}
	return s.try(items)
}

func (s *search) search(why error) {
	if len(s.out.Reported) == 0 || s.ask([]workv1alpha2.AggregatedStatusItem{}) != nil { // a script is not made to be given nothing
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

// again looks first at whom it found before, and where it did not end, and says whether that was all.
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
		return true // the next search will tell
	}
	for _, i := range suspects {
		s.leaveOut(i, err)
	}
	return true
}

// alone leaves out, by halves, the items of a range that are unacceptable each by itself.
func (s *search) alone(from, to int) {
	// If it could not be asked, the next try will.
	if err := s.ask(s.out.Reported[from:to]); isUnacceptable(err) {
		s.halve(from, to, err)
	}
}

// halve is alone for a range that is known to be unacceptable.
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

// together leaves out items that are acceptable each by itself, and not with the others, such as a number that none of a hundred other
// clusters can be added to: each time the one without which the others fit or, if there is none or more than one, the one that those who
// claim less do not bear. Nobody is left out for a try that was not answered, nor because there are more than the rules of the kind have
// time or memory for: that is nobody's lie, and each try would take as long.
func (s *search) together() {
	for range mostTogether {
		err := s.ask(s.out.Reported)
		if !isUnacceptable(err) || interpreter.IsExceeded(err) {
			return
		}
		order := aggregate.ByClaims(s.out.Reported)
		if len(order) == 0 || !s.fits(order) {
			return // it is not what they report
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

// each looks, by halves, for the items of which the absence of each alone makes the others fit, among those without all of which they do. It
// returns two of them if there are more: where they add up to a little too much, the absence of anybody would do. Where that of any two would, and
// of nobody alone, it gives up after some tries.
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

// fits says whether the others add up to a status without some items.
func (s *search) fits(without []int) bool {
	err := s.ask(s.without(without))
	s.unanswered = s.unanswered || err != nil && !isUnacceptable(err)
	return err == nil
}

// without returns what is reported but for some items.
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
		return // it is not what it reports
	}
	s.found = true
	s.known.left[s.out.Reported[i].ClusterName] = aggregate.NewLeftOut(&s.out.Reported[i], why.Error()+".")
	aggregate.LeaveOut(&s.out.Reported[i], why.Error()+".")
	aggregate.LeaveOut(&s.out.Items[i], why.Error()+".")
}

func isUnacceptable(err error) bool { return errors.As(err, new(unacceptableError)) }
