package apiserver

import (
	"strings"
	"sync/atomic"
)

// errorFull is etcd's error message when its database is full, which the API server passes on unchanged.
const errorFull = "database space exceeded"

// makeRoom tells people how to free space in the database.
const makeRoom = "the database of the API is full: delete what nobody needs, most of all large ConfigMaps, Secrets and other templates, which works all the while"

// isFull says whether an error means that nothing can be written until somebody deletes something.
func isFull(err error) bool { return err != nil && strings.Contains(err.Error(), errorFull) }

// failure has the error of the last request; none if it succeeded.
type failure struct {
	last atomic.Pointer[error]
	// wasFull says that some request failed because the database was full, regardless of later ones.
	wasFull atomic.Bool
}

// keep records the result of a request.
func (f *failure) keep(err error) {
	if err == nil {
		f.last.Store(nil)
		return
	}
	f.last.Store(&err)
	if isFull(err) {
		f.wasFull.Store(true)
	}
}
