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

// Bounds of what answers hold. A value of two bytes may become a kilobyte when it is decoded, so that bytes alone bound nothing: an
// object is decoded only once its values were counted, and those of a list one after another.
const (
	// maxValues is how many values an object may hold. A pod has some hundreds, and what etcd takes no more than this.
	maxValues = 100_000
	// maxObject is how many bytes an object may have. What etcd takes is no larger.
	maxObject = 4 << 20
	// bytesPerValue is how many bytes the values of objects have at least, on average: an answer may hold as many as there
	// would be in the most bytes that are read.
	bytesPerValue = 16
)

// Of answers that hold too much no more is read.
var (
	errTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)
	errTooMany  = errors.New("the answer holds more values than are read of a cluster")
)

// errLargeObject says that an answer is refused since no API server has such objects.
var errLargeObject = fmt.Errorf("an object in it is larger than %d MiB, and no API server has such; look at what answers for the API there", maxObject>>20)

// isTooMuch says whether an answer was not read to its end since it holds too much.
func isTooMuch(err error) bool { return errors.Is(err, errTooLarge) || errors.Is(err, errTooMany) }

// allowance is the remainder that may be read: bytes and values of all answers to one question, and bytes of the current object.
type allowance struct{ bytes, values, object int64 }

func (m *Members) allowance() *allowance {
	return &allowance{bytes: m.most, values: m.most / bytesPerValue}
}

// get reads one answer into a value.
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

// list reads one page of a list, and hands its objects on one by one, as far as something is left for them. It says what the
// list says of itself, and whether there are more objects than these: of those it hands on none, and they are not read.
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

// errEnough ends the reading of a page that is longer than was asked for.
var errEnough = errors.New("the page is longer than was asked for")

// read has one answer decoded, of as many bytes as are left, and takes those off.
func (m *Members) read(ctx context.Context, at *url.URL, accept string, left *allowance, decode func(*json.Decoder) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	body, err := m.open(ctx, at, accept)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was read
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

// objects reads an answer, but of none of its objects more than may be read of one: a decoder holds all of it at once, and twice.
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

// next returns the next value, unless it holds more values than are left, or than an object does.
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

// readFields has the value of each field of an object read, by its name.
func readFields(d *json.Decoder, read func(name string) error) error {
	if is, err := readOpening(d, '{'); err != nil || !is {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string) // names are nothing else
		if err := read(text); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// readElements has each element of a list read.
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

// readOpening reads how an object or a list begins, and says whether there is one: null stands for none.
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
