package dashboard

import "strconv"

// paging is the visible part of a list.
type paging struct {
	Page, Pages, Total, From, To int
	// First, Previous, Next and Last are addresses; empty if there is no such page.
	First, Previous, Next, Last string
	// What is the singular noun for the items.
	What string
}

// pageOf returns the part of a list that the query selects.
func pageOf[T any](v *visit, key, what string, all []T, size int) ([]T, paging) {
	p := paging{Total: len(all), Pages: max(1, (len(all)+size-1)/size), What: what}
	p.Page = min(v.number(key), p.Pages)
	first := (p.Page - 1) * size
	last := min(first+size, len(all))
	p.From, p.To = first+1, last
	if p.Page > 1 {
		p.First, p.Previous = v.with(key, ""), v.with(key, strconv.Itoa(p.Page-1))
	}
	if p.Page < p.Pages {
		p.Next, p.Last = v.with(key, strconv.Itoa(p.Page+1)), v.with(key, strconv.Itoa(p.Pages))
	}
	return all[first:last], p
}

// choice is an entry of a selection.
type choice struct {
	Value, Text string
	Chosen      bool
	Count       int
	To          string
}
