package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/jsondepth"
)

// Limits of responses. A value of two bytes may take a kilobyte when it is decoded, so a limit on bytes is not enough:
// an object is decoded only after its values were counted, and the objects of a list one after the other.
const (
	// maxValues is how many values an object may have. A pod has some hundreds, and no object that fits into etcd has
	// more than this.
	maxValues = 100_000
	// maxObject is the greatest size of an object in bytes. No object that fits into etcd is larger.
	maxObject = 4 << 20
	// bytesPerValue is the least average size of a value: a response may have as many values as fit into the maximum of
	// bytes.
	bytesPerValue = 16
)

// Errors for responses that exceed the limits and are not read on.
var (
	errTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)
	errTooMany  = errors.New("the answer has more values than the limit for a cluster")
)

// errLargeObject says that no API server could have an object of this size.
var errLargeObject = fmt.Errorf("an object in it is larger than %d MiB, which no API server stores; check what answers for the API there", maxObject>>20)

// isTooMuch says whether a response was not read to its end because of the limits.
func isTooMuch(err error) bool { return errors.Is(err, errTooLarge) || errors.Is(err, errTooMany) }

// allowance is what may still be read: bytes and values of all responses to one query, and bytes of the current object.
type allowance struct{ bytes, values, object int64 }

func (m *Members) allowance() *allowance {
	return &allowance{bytes: m.most, values: m.most / bytesPerValue}
}

// get reads and decodes one object.
func (m *Members) get(ctx context.Context, at *url.URL, accept string, into any) error {
	left := m.allowance()
	return m.read(ctx, at, accept, left, func(d *json.Decoder) error {
		raw, err := left.next(d)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, into)
	})
}

// list reads one page of a list, and calls each for its objects, within the allowance. It returns the metadata of the
// list, and whether there are more objects than most; those are not read.
func (m *Members) list(ctx context.Context, at *url.URL, accept string, most int, left *allowance, each func(json.RawMessage) error) (
	meta metav1.ListMeta, more bool, err error,
) {
	items := 0
	item := func(d *json.Decoder) error {
		if items++; items > most {
			more = true
			return errEnough
		}
		raw, err := left.next(d)
		if err != nil {
			return err
		}
		return each(raw)
	}
	err = m.read(ctx, at, accept, left, func(d *json.Decoder) error {
		return readFields(d, func(name string) error {
			if name == "items" {
				return readElements(d, item)
			}
			raw, err := left.next(d)
			if err != nil || name != "metadata" {
				return err
			}
			return json.Unmarshal(raw, &meta)
		})
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return meta, more, err
}

// errEnough ends the reading of a page that is longer than requested.
var errEnough = errors.New("the page is longer than was asked for")

// read decodes one response within the allowance, and deducts what it used.
func (m *Members) read(ctx context.Context, at *url.URL, accept string, left *allowance, decode func(*json.Decoder) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	body, err := m.open(ctx, at, accept)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	bound := &io.LimitedReader{R: body, N: left.bytes}
	left.object = maxObject
	err = decode(json.NewDecoder(&objects{from: jsondepth.Limit(bound, jsondepth.MaxAnswer), left: left}))
	left.bytes = bound.N
	switch {
	case errors.Is(err, errEnough), errors.Is(err, errTooMany), errors.Is(err, errLargeObject):
		return err
	case bound.N <= 0:
		return errTooLarge
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

// objects reads a response, and limits the bytes of each object: a decoder buffers a whole object, twice.
type objects struct {
	from io.Reader
	left *allowance
}

func (o *objects) Read(p []byte) (int, error) {
	if o.left.object <= 0 {
		return 0, errLargeObject
	}
	n, err := o.from.Read(p[:min(int64(len(p)), o.left.object)])
	o.left.object -= int64(n)
	return n, err
}

// next returns the next value, unless it exceeds the limits.
func (a *allowance) next(d *json.Decoder) (json.RawMessage, error) {
	var raw json.RawMessage
	a.object = maxObject
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	values := int64(jsondepth.Values(raw))
	if a.values -= values; values > maxValues || a.values < 0 {
		return nil, errTooMany
	}
	return raw, nil
}

// readFields calls read for each field of an object, with its name.
func readFields(d *json.Decoder, read func(name string) error) error {
	if is, err := readOpening(d, '{'); err != nil || !is {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string) // names are always strings
		if err := read(text); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// readElements calls read for each element of a list.
func readElements(d *json.Decoder, read func(*json.Decoder) error) error {
	if is, err := readOpening(d, '['); err != nil || !is {
		return err
	}
	for d.More() {
		if err := read(d); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// readOpening reads the start of an object or a list, and says whether there is one: null means none.
func readOpening(d *json.Decoder, by json.Delim) (bool, error) {
	token, err := d.Token()
	if err != nil || token == nil {
		return false, err
	}
	if token != by {
		return false, fmt.Errorf("there is %v where %q was to be", token, by.String())
	}
	return true, nil
}
