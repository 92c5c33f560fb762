package kubelet

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// logOptions are the options of a log request, named as in PodLogOptions.
type logOptions struct {
	follow, previous, timestamps bool
	// stdout says that standard output is requested, the only stream of these containers.
	stdout bool
	// since is the time of the first line.
	since time.Time
	// tail is how many lines from the end, and limit how many bytes; nil means all.
	tail, limit *int64
}

// parseLogOptions parses a query, and refuses what a kubelet refuses.
func parseLogOptions(query url.Values, now time.Time) (logOptions, error) {
	out := logOptions{}
	var err error
	for name, to := range map[string]*bool{"follow": &out.follow, "previous": &out.previous, "timestamps": &out.timestamps} {
		if text := query.Get(name); text != "" {
			if *to, err = strconv.ParseBool(text); err != nil {
				return out, fmt.Errorf("%s is %q, and is to be true or false", name, text)
			}
		}
	}
	if out.tail, err = number(query, "tailLines", 0); err != nil {
		return out, err
	}
	if out.limit, err = number(query, "limitBytes", 1); err != nil {
		return out, err
	}
	seconds, err := number(query, "sinceSeconds", 1)
	if err != nil {
		return out, err
	}
	at := query.Get("sinceTime")
	switch {
	case seconds != nil && at != "":
		return out, fmt.Errorf("there are both sinceSeconds and sinceTime, and at most one may be")
	case seconds != nil:
		out.since = now.Add(-time.Duration(*seconds) * time.Second)
	case at != "":
		if out.since, err = time.Parse(time.RFC3339, at); err != nil {
			return out, fmt.Errorf("sinceTime is %q, which is no time such as 2026-01-31T12:00:00Z", at)
		}
	}
	switch stream := query.Get("stream"); stream {
	case "", "All", "Stdout":
		out.stdout = true
	case "Stderr":
	default:
		return out, fmt.Errorf("stream is %q, and is to be All, Stdout or Stderr", stream)
	}
	return out, nil
}

// number parses a number with a minimum; nil if there is none.
func number(query url.Values, name string, least int64) (*int64, error) {
	text := query.Get(name)
	if text == "" {
		return nil, nil //nolint:nilnil // nil means that it is not set
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		return nil, fmt.Errorf("%s is %q, and is to be a number of at least %d", name, text, least)
	}
	return &n, nil
}
