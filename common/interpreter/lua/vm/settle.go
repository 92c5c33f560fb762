package vm

import "github.com/yuin/gopher-lua/ast"

// gopher-lua gets some calls wrong: it takes the register of a variable for the function if one
// value of the call is assigned to the variable, calls the wrong thing if what a loop goes through
// is a call of a call, and makes a tail call, which has no line, of a call that is returned.

// settled returns an expression that has the first value of a call and is none; any other
// expression is returned as it is.
func settled(e ast.Expr) ast.Expr {
	if _, ok := e.(*ast.FuncCallExpr); !ok {
		return e
	}
	out := &ast.LogicalOpExpr{Operator: "or", Lhs: &ast.NilExpr{}, Rhs: e}
	out.Lhs.SetLine(e.Line())
	out.SetLine(e.Line())
	return out
}

// settle settles the calls whose values are assigned one by one.
func settle(s *ast.AssignStmt) {
	if call, ok := s.Rhs[0].(*ast.FuncCallExpr); ok && len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		call.AdjustRet = false // others than the first are left out all the same
		return
	}
	for i := range s.Rhs {
		if i < len(s.Rhs)-1 || !several(s.Rhs[i]) {
			s.Rhs[i] = settled(s.Rhs[i])
		}
	}
}
