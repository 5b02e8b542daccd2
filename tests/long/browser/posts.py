"""Checks of the posts that admins manage in the console."""


def write(page, title, content):
    page.type("dialog [name=title]", title)
    page.type("dialog [name=content]", content)
    page.click("dialog form .primary")


def an_admin_writes_edits_and_deletes_a_post(page):
    page.open("admin", "#/posts")
    page.click(".bar .primary")
    write(page, " ", "content")
    page.find("dialog .message.error", "Title must")
    page.press("\ue00c")
    page.find("#notice", "Not saved")
    page.click(".bar .primary")
    assert page.find("dialog [name=content]").get_attribute("value") == "content", "the text is lost"
    write(page, "<b>First</b>", "<script>alert(1)</script>")
    page.find("article h2", "<b>First</b>")
    page.find("article .content", "<script>alert(1)</script>")
    page.click("article button", "Edit")
    write(page, "Second", "changed")
    page.find("article h2", "Second")
    page.find("article .muted", "changed")
    page.click("article button", "Delete")
    page.click("article button.danger")
    page.find("#notice", "Post deleted.")
    page.find("h1", "Posts")
    page.wait(lambda: "Second" not in page.text("main"), "the post stays")


def an_admin_changes_the_posts_of_others(page):
    server = page.deployment
    server.create("poet", "author")
    status, post = server.api("POST", "/posts", {"title": "Ode", "content": "O!"}, server.token("poet"))
    assert status == 201, post
    page.open("admin", "#/posts")
    page.click(".posts a", "Ode")
    page.find("article .content", "O!")
    page.click("article button", "Edit")
    # The post is deleted meanwhile. The dialog shows the conflict and keeps the text.
    server.api("DELETE", f"/posts/{post['id']}", token=server.token("poet"))
    write(page, "Ode, edited", "Oh!")
    page.find("dialog .message.error", "Post not found.")
    assert page.find("dialog [name=title]").get_attribute("value") == "Ode, edited"


def posts_have_pages_and_an_empty_state(page):
    server = page.deployment
    page.open("admin", "#/posts")
    page.find("main", "There are no posts yet.")
    token = server.token()
    for number in range(25):
        assert server.api("POST", "/posts", {"title": f"Post {number}", "content": "Text"}, token)[0] == 201
    page.browser.refresh()
    page.find(".posts a", "Post 0")
    page.click(".paging button", "Next")
    page.find(".posts a", "Post 24")
    page.click(".paging button", "Previous")
    page.find(".posts a", "Post 0")
    for post in server.api("GET", "/posts?limit=200")[1]["posts"]:
        assert server.api("DELETE", f"/posts/{post['id']}", token=token)[0] == 200


# The check of the empty state must run first, before there are posts.
CHECKS = [
    posts_have_pages_and_an_empty_state,
    an_admin_writes_edits_and_deletes_a_post,
    an_admin_changes_the_posts_of_others,
]
