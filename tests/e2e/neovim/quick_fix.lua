-- nvim --headless -u NONE -n -c 'luafile quick_fix.lua' FILE
-- Starts graphmend-lsp as the user who follows docs/editors.md, waits for the break, saves so that torch confirms it,
-- applies the mend, and writes the file. GRAPHMEND_PLAN: JSON {setup, text, action}; `setup` is the page's own.

local plan = vim.fn.json_decode(os.getenv("GRAPHMEND_PLAN"))
local buffer = vim.api.nvim_get_current_buf()

local function say(...) io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), " ") .. "\n") end

local function ours()
  return vim.tbl_filter(function(one) return one.source == "graphmend" end, vim.diagnostic.get(buffer))
end

local function text_of(one)
  local line = vim.api.nvim_buf_get_lines(buffer, one.lnum, one.lnum + 1, false)[1]
  return line and one.end_lnum == one.lnum and line:sub(one.col + 1, one.end_col) or ""
end

local function fail(why)
  say("FAILED", why, vim.inspect(ours()))
  say(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))
  vim.cmd("cquit 1")
end

local function wait_for(what, seconds, ready)
  if not vim.wait(seconds * 1000, ready, 50) then fail("waited " .. seconds .. " s until " .. what) end
end

local function shown(severity)
  for _, one in ipairs(ours()) do
    if text_of(one) == plan.text and (severity == nil or one.severity == severity) then return one end
  end
end

load(plan.setup)()
vim.bo[buffer].filetype = "python"

wait_for("the break is found by reading", 15, function() return shown(nil) end)
say("read:", shown(nil).message)

vim.cmd("write")
wait_for("torch confirms the break", 45, function() return shown(vim.diagnostic.severity.WARN) end)
local confirmed = shown(vim.diagnostic.severity.WARN)
say("run:", confirmed.message)

-- Neovim lets the user choose; the choice here is the mend that is verified, once there is one.
local chosen
vim.ui.select = function(items, _, on_choice)
  for index, item in ipairs(items) do
    local action = item.action or item[2] -- item[2]: before 0.10
    local title = action.title
    if not action.disabled and title:find(plan.action, 1, true) and not title:find("(not verified yet)", 1, true) then
      chosen = title
      return on_choice(item, index)
    end
  end
  on_choice(nil)
end
vim.api.nvim_win_set_cursor(0, { confirmed.lnum + 1, confirmed.col })
local function changed() return vim.bo[buffer].modified end
wait_for("the mend is offered and applied", 20, function()
  if not chosen then
    vim.lsp.buf.code_action()
    vim.wait(500, changed, 20)
  end
  return changed()
end)
say("applied:", chosen)

vim.cmd("write")
wait_for("the diagnostic is gone", 45, function() return not shown(nil) end)

local clients = (vim.lsp.get_clients or vim.lsp.get_active_clients)()
if #clients ~= 1 then fail("there are " .. #clients .. " clients") end
vim.lsp.stop_client(clients)
local function ended() return clients[1]:is_stopped() end
wait_for("the server has ended", 10, function() return vim.lsp.get_client_by_id(clients[1].id) == nil or ended() end)
say("PASS")
vim.cmd("qall!")
