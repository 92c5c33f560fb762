package vm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"fairlead.dev/common/prose"
)

// Error is what is wrong with a script, or went wrong when it ran.
type Error struct {
	// Line of the script, from 1; 0 if it is not known.
	Line int
	// Message is what Lua says, without the line.
	Message string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// position is how Lua begins a message about a line of ours.
var position = regexp.MustCompile(`^` + chunk + `:(\d+): `)

// newError returns what Lua says as an Error.
func newError(err error) *Error {
	var (
		syntax  *parse.Error
		compile *lua.CompileError
		running *lua.ApiError
	)
	switch {
	case errors.As(err, &syntax):
		if syntax.Pos.Line == parse.EOF {
			return &Error{Message: "the script ends in the middle of a statement"}
		}
		return &Error{Line: syntax.Pos.Line, Message: fmt.Sprintf("%s near %q", syntax.Message, syntax.Token)}
	case errors.As(err, &compile):
		return &Error{Line: compile.Line, Message: compile.Message}
	case errors.As(err, &running):
		return said(running)
	default:
		return &Error{Message: err.Error()}
	}
}

// maxMessage is how long a message may be: it goes into conditions, events and logs.
const maxMessage = 1000

// said returns what was raised while a script ran.
func said(err *lua.ApiError) *Error {
	message := "an error that is no text"
	if text, ok := err.Object.(lua.LString); ok {
		message = string(text)
	} else if err.Cause != nil {
		message = err.Cause.Error()
	} else if err.Type == lua.ApiErrorPanic {
		message, _, _ = strings.Cut(err.Error(), "\n")
	}
	message = prose.Cut(message, maxMessage)
	out := &Error{Message: message}
	if m := position.FindStringSubmatch(message); m != nil {
		out.Line, _ = strconv.Atoi(m[1])
		out.Message = message[len(m[0]):]
	}
	if strings.HasSuffix(out.Message, "stack overflow") || strings.HasPrefix(out.Message, "registry overflow") {
		out.Message = "functions call each other too deeply, or hold too many values"
	}
	return out
}
