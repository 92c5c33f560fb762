package revision

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/json"
)

// pack encodes a value for a Secret. The error is ErrTooLarge if it does not fit.
func pack(v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a revision: %w", err)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write(plain); err != nil {
		return nil, fmt.Errorf("compressing a revision: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("compressing a revision: %w", err)
	}
	if out.Len() > MaxEncoded || len(plain) > maxDecoded {
		return nil, fmt.Errorf("%w: it has %d bytes when compressed, and may have %d", ErrTooLarge, out.Len(), MaxEncoded)
	}
	return out.Bytes(), nil
}

// unpack decodes the result of pack, whoever wrote it.
func unpack(data []byte, into any) error {
	if len(data) > MaxEncoded {
		return ErrTooLarge
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(io.LimitReader(zip, maxDecoded+1))
	if err != nil {
		return err
	}
	if len(plain) > maxDecoded {
		return ErrTooLarge
	}
	return json.Unmarshal(plain, into)
}
